"""Settings checked by a model; what is wrong first, in one line."""

from collections.abc import Mapping
from typing import Any, TypeVar

import pydantic

from .._errors import SettingError, refuse_unknown, short

Model = TypeVar("Model", bound=pydantic.BaseModel)


def checked_by(model: type[Model], what: str, given: Mapping[str, Any], *, part: str = "setting") -> Model:
    """Settings as a **model** has them; an unknown name or a wrong value is refused in one line.

    **what**: whose settings they are. **given**: by name. **part**: what errors call one of them.
    """
    for name in given:
        refuse_unknown(f"{part} of {what}", name, model.model_fields)
    try:
        return model.model_validate(given)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SettingError(f"{what}: {where}: {first['msg'].lower()}, got {short(first['input'])}") from error
