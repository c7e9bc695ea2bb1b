"""Files of one's own data, of every kind that `localax predict` reads: spoilt, or made to be more than they seem."""

import io
import os
import pickle
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
from hypothesis import strategies as st
from PIL import Image

from localax.prediction import read_labels, read_samples
from localax.prediction._classes import as_classes
from test_predict import GOOD, Trap, write_h5, write_mat73

from .driver import AbstractTarget
from .values import SEEDS, spoilt, texts

SPARSE = 2**33
"""Bytes of a file that is long, and empty for the most part."""
HUGE = (
    (10**9, 10**9),
    (2**62, 4),
    (10**10, 8),
    (1, 10**12),
    (0, 5),
    (4,),
    (2, 2, 2, 2, 2),
    (-1, 4),
    (10**6, 10**4),
    (10**9,),
    (2 * 10**8,),
)
"""Shapes that a head may declare whatever follows it."""
ZEROS = 3 * 2**30
"""Bytes that a bomb unpacks to."""


def deflated(head: bytes, zeros: int) -> bytes:
    """A zlib stream of a head and many zeros, made of copies of one packed piece."""
    packer, piece = zlib.compressobj(9), 2**20
    first = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(piece)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * (zeros // piece) + packer.flush()


def saved(writer: Callable[[Path], Any], suffix: str) -> bytes:
    """The bytes of a file that a function writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"x{suffix}")
        writer(path)
        return path.read_bytes()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def npy_head(shape: Any, dtype: str = "<f8", after: bytes = bytes(512)) -> bytes:
    """A file that declares a shape and a type, and has a little of it."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    text = text.ljust(-(-(len(text) + 11) // 64) * 64 - 11) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + after


def npz(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def png_head(width: int, height: int, rows: bytes = b"") -> bytes:
    """A picture that declares its size, and has a few of its rows."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = (head, b"IDAT" + zlib.compress(rows), b"IEND")
    pieces = [struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(pieces)


# Whole files, and such as no program writes ---------------------------------------------------------------------------

ODD = (
    GOOD, GOOD[:0], GOOD[0], GOOD * 1j, GOOD.astype("f2"), GOOD * np.nan, GOOD * 1e300, np.zeros((20, 4, 4, 3)),
    np.full((20, 4), "a"), np.full((20, 4), b"a"), np.zeros((20, 4), "M8[s]"), np.zeros((20, 4), "m8[s]"),
    np.zeros(20, "f4,i2"), np.asfortranarray(GOOD), np.array(3.0), np.zeros((20, 4), bool), np.zeros((20, 4), ">u8"),
    GOOD.astype("longdouble"),
)  # fmt: skip
TRAPS = (np.array([[Trap()] * 4] * 20, object), np.array([None, {}], object))


def npz_bomb(said: int) -> bytes:
    """An archive whose one member unpacks to far more than it is; **said**: how much it says that it has."""
    data = deflated(npy_head((ZEROS // 8, 1), after=b""), ZEROS)[2:]  # without the head of zlib, as archives have it
    entry = struct.pack("<HHHHHLLLHH", 20, 0, 8, 0, 0, 0, len(data), said, 5, 0)
    local = b"PK\3\4" + entry + b"a.npy" + data
    central = b"PK\1\2" + struct.pack("<H", 20) + entry + bytes(14) + b"a.npy"
    return local + central + b"PK\5\6" + struct.pack("<HHHHLLH", 0, 0, 1, 1, len(central), len(local), 0)


def mat_bomb() -> bytes:
    """A packed matrix of whole numbers, a byte each."""
    rows, columns = 1024, ZEROS // 1024
    parts = (
        struct.pack("<LLLL", 6, 8, 6, 0) + struct.pack("<LLll", 5, 8, rows, columns) + struct.pack("<HHL", 1, 1, 0x61)
    )
    matrix = struct.pack("<LL", 14, len(parts) + 8 + ZEROS) + parts + struct.pack("<LL", 1, ZEROS)
    data = deflated(matrix, ZEROS)
    return (
        b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<HH", 0x100, 0x4D49) + struct.pack("<LL", 15, len(data)) + data
    )


def h5_bomb(path: Path) -> None:
    """One chunk that holds all of a large array, packed."""
    with h5py.File(path, "w") as file:
        shape = (1024, ZEROS // 4096)
        made = file.create_dataset("a", shape, "f4", chunks=shape, compression="gzip")
        made.id.write_direct_chunk((0, 0), deflated(b"", ZEROS))


def _npys() -> list[bytes]:
    heads = [npy_head(shape) for shape in HUGE] + [npy_head((4, 4), kind) for kind in ("|O", "|V0", "|S0", "f16")]
    return [*map(npy, ODD), *map(npy, TRAPS), *heads, pickle.dumps(Trap()), npy_head((4, 4), "<f8", b"")]


def _npzs() -> list[bytes]:
    names = ("../../out.npy", "/tmp/out.npy", "a/b.npy", "a.npy/", "meta", ".npy", "a.npy.npy", "é.npy", "a\\b.npy")
    whole = npy(GOOD)
    archives = [{name: whole} for name in names] + [{"a.npy": one} for one in _npys()]
    return [
        *map(npz, archives),
        npz({}),
        npz({"a.npy": whole, "b.npy": whole}),
        npz({"a.npy": b""}),
        npz_bomb(100),
        npz_bomb(ZEROS),
    ]


def _csvs() -> list[bytes]:
    table = "\n".join(",".join(f"{x:.3f}" for x in row) for row in GOOD[:20])
    lines = (
        table, f"a,b,c,d\n{table}", "1,2\n3", "nan,inf\n1,2", "", "\n\n\n", ",,,", "1;2;3", "#" + table,
        "1e999,1\n2,3", "0x10,1", "1" * 100_000, "1," * 20_000, "\ufeff" + table, "1,2,3,4\n" * 5000, '"1","2"',
        "１,２\n3,4", "a\x00,b\n1,2", "1_0,2\n3,4", "True,False\n1,2", "1j,2\n3,4", "\r".join(table.splitlines()),
    )  # fmt: skip
    return [*(line.encode() for line in lines), table.encode("utf-16"), b"\xff\xfe\xfd,1\n1,2"]


def _mats() -> list[bytes]:
    values: list[Any] = [GOOD, {"b": GOOD}, np.array([GOOD, "text"], object), "text", scipy.sparse.eye(20).tocsc(), []]
    plain = [saved(lambda path, v=v: scipy.io.savemat(path, {"a": v}), ".mat") for v in values]
    packed = saved(lambda path: scipy.io.savemat(path, {"a": GOOD}, do_compression=True), ".mat")
    old = saved(lambda path: scipy.io.savemat(path, {"a": GOOD}, format="4"), ".mat")
    return [*plain, packed, old, mat_bomb(), saved(lambda path: write_mat73(path, {"a": GOOD}), ".mat")]


def _h5s() -> list[bytes]:
    def linked(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file["a"] = h5py.ExternalLink("/etc/passwd", "/x")
            file["b"] = h5py.SoftLink("/b")
            file.create_group("c")["d"] = h5py.SoftLink("/c")

    def declared(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file.create_dataset("a", shape=(10**7, 10**5), dtype="f4", chunks=(1000, 100))

    def outside(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file.create_dataset("a", shape=(20, 4), dtype="f4", external=[("/etc/passwd", 0, 320)])

    whole = saved(lambda path: write_h5(path, {"a": GOOD}), ".h5")
    names = [saved(lambda path, n=n: write_h5(path, {n: GOOD}), ".h5") for n in ("é", "a/b/c", "#a")]
    texts_in = saved(lambda path: write_h5(path, {"a": np.array([b"a", b"b"], object)}), ".h5")
    return [whole, *names, texts_in, *(saved(one, ".h5") for one in (linked, declared, h5_bomb, outside))]


def images() -> list[bytes]:
    grey = np.random.default_rng(0).integers(0, 255, (40, 40), np.uint8)
    kinds = [Image.fromarray(grey), Image.fromarray(np.stack([grey] * 3, -1)), Image.fromarray(grey.astype("i4"))]
    kinds += [Image.fromarray(grey.astype("f4")), Image.fromarray(grey).convert("P"), Image.fromarray(grey > 99)]
    made = []
    for image in kinds:
        for form in ("png", "jpeg", "tiff", "gif", "bmp"):
            try:
                made.append(saved(lambda path, i=image, f=form: i.save(path, f), ".img"))
            except OSError:  # this form has no such pixels
                continue
    sizes = ((40_000, 40_000), (2**31 - 1, 1), (0, 0), (1, 10**6), (9_000, 9_000))
    return [*made, *(png_head(*size) for size in sizes), png_head(9_000, 9_000, bytes(9_001 * 9_000))]


FILES: dict[str, Callable[[], list[bytes]]] = {
    ".npy": _npys, ".npz": _npzs, ".csv": _csvs, ".mat": _mats, ".h5": _h5s, "image": images,
}  # fmt: skip
IMAGES = (".png", ".jpg", ".tif", ".jpeg", ".tiff")


class Loader(AbstractTarget):
    """Reads files of one kind as samples, which are then checked as a prediction checks them, or as labels."""

    def __init__(self, kind: str):
        self.kind, self.name = kind, f"{kind} files"

    def inputs(self) -> st.SearchStrategy:
        self.files = FILES[self.kind]()
        whole = st.sampled_from(range(len(self.files)))
        kinds = st.sampled_from(IMAGES if self.kind == "image" else (self.kind,))
        how = st.sampled_from(("samples", "samples", "samples", "labels", "labels", "link", "sparse"))
        return st.tuples(kinds, how, st.none() | st.none() | st.just("a") | texts, st.tuples(whole, SEEDS))

    def made(self, drawn: Any) -> Any:
        *rest, (whole, seed) = drawn
        return *rest, spoilt(self.files[whole], seed)

    def take(self, given: Any) -> None:
        suffix, how, array, data = given
        file = self.folder / f"x{suffix}"
        file.unlink(missing_ok=True)
        if how == "link":
            (self.folder / "behind").write_bytes(data)
            file.symlink_to("behind")
        else:
            file.write_bytes(data)
        if how == "sparse":  # it takes no disk
            os.truncate(file, SPARSE)
        if how in ("labels", "sparse"):
            read_labels(file, array=array)
        else:
            as_classes(read_samples(file, array=array, patch=8).samples, None, None, centre=False, seed=0)
