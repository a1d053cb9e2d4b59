"""An order for a document of any model: a derivation in some format, a fragment, macros, or a live page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..language.errors import DocumentError
from ..models.model import Model
from ..output.blocks import Document
from ..targets.resolution import resolve
from .document_forms import Form, Length
from .formats import ARCHIVE, Engine, Flavour

Kind = Literal["derivation", "fragment", "macros", "live"]


@dataclass(frozen=True)
class DocumentRequest:
    """All choices for a document except the model and the file."""

    version: str
    extension: str = "pdf"
    kind: Kind = "derivation"
    quantities: Sequence[str] = ("params",)  # empty for the usual ones of a live page
    options: Mapping[str, str] = field(default_factory=dict)
    sets: Sequence[str] = ()
    length: Length = "full"
    engine: Engine = "typst"
    flavour: Flavour = "github"
    template: tuple[str, str] | None = None  # name and text of a user's template
    form: Form = "derivation"
    forms: Sequence[str] = ()  # other forms of each formula

    def resolved(self, target: str) -> tuple[Model, dict[str, str]]:
        """Return the model for a target and the conventions. Raises SymformerError."""
        from .live_page import TABS

        return resolve(target, self.options, self.sets, self.quantities or TABS)

    def written(self, models: Sequence[Model], conventions: Mapping[str, str], file: str) -> bytes:
        """Return the contents of the file, for one model or for two on a live page. Raises SymformerError."""
        from ..views.derivation_facts import derivation_facts, formulas_of
        from .derivation_document import laid_out

        if self.kind == "live":
            from .live_page import page, usual_quantities

            asked = self.quantities or usual_quantities(models, conventions)
            return page(models, asked, self.version, self.length, **conventions)
        (model,) = models
        if self.kind == "macros":
            from .macros import MacroRequest, spelt

            source = MacroRequest.for_file(self.version, model, self.quantities, self.options, self.sets, file)
            return spelt(model, formulas_of(model, self.quantities, conventions), source)
        found = derivation_facts(model, self.quantities, conventions, full=self.length == "full", forms=self.forms)
        if self.form == "worksheet":
            if self.extension == ARCHIVE:
                raise DocumentError(
                    f"a worksheet has no .{ARCHIVE}, which would contain the formulas; choose .pdf or .tex"
                )
            from ..views.exercise_facts import exercise_facts
            from .worksheet import worksheet

            exercises = exercise_facts(found.subject, found.quantities[0])
            return self._rendered(worksheet(found, exercises, self.version))
        if self.form == "slides":
            from .formats.typst_slides import render_slides
            from .slides import slides

            return render_slides(slides(found, self.version), self.extension)
        paper = laid_out(found, self.version, form=self.length)
        if self.extension == ARCHIVE:
            from .bundle import bundle

            return bundle(model, [each.formula for each in found.quantities], paper)
        return self._rendered(paper)

    def surveyed(self, targets: Sequence[str], options: Sequence[str]) -> bytes:
        """Return the contents of a file with a survey of several targets. Raises SymformerError.

        ``options`` are the options as given: ``2:tied=false`` applies to the second target only.
        """
        from ..targets.side_by_side import SideBySideTargets
        from .survey_document import survey

        sides = SideBySideTargets.of(targets, self.quantities, self.sets, options, skip_refused=True)
        models, conventions = sides.models()
        paper = survey(models, self.quantities, self.version, conventions, self.length)
        if self.extension == ARCHIVE:
            from .bundle import packed

            return packed(paper, dict(paper.attached)["survey.json"].encode())
        return self._rendered(paper)

    def _rendered(self, paper: Document) -> bytes:
        """Return a document as a file: by the user's template, as a fragment, or in the format."""
        from .formats import render

        if self.template:
            from .formats.user_template import fill

            name, text = self.template
            return fill(paper, self.extension, self.flavour, text, name)
        made = "fragment" if self.kind == "fragment" else self.extension
        return render(paper, made, self.engine, self.flavour)
