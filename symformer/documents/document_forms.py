"""The forms and the lengths of a document about one target: its contents arranged for reading or for teaching."""

from __future__ import annotations

from typing import Literal, get_args

Form = Literal["derivation", "slides", "worksheet"]
FORMS: tuple[Form, ...] = get_args(Form)  # the first is the default
Length = Literal["full", "short"]
LENGTHS: tuple[Length, ...] = get_args(Length)  # of a derivation; the first is the default
