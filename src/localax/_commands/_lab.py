"""The command that opens the lab."""

import importlib.util
from typing import Annotated

import typer

from .._errors import SettingError
from ._options import Folder

NEEDED = ("fastapi", "uvicorn", "plotly", "python_multipart")


def lab(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any port that is free.")] = 8271,
    host: Annotated[
        str, typer.Option(help="An address of this machine; others than this machine then need the token it prints.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    store: Folder = None,
) -> None:
    """Open the lab, a web page: move a slider, watch a field form, with theory beside it. Ctrl-C closes it."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingError(f"the lab needs {', '.join(missing)}, not installed here: pip install 'localax[lab]'")
    from ..web import serve

    def tell(address: str) -> None:
        print(f"the lab is open at {address}\nCtrl-C closes it", flush=True)

    serve(host, port, store=store, browser=browser, tell=tell)
    print("the lab is closed", flush=True)
