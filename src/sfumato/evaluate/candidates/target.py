"""What a classifier learns of a target from each candidate: trained on released rows, tested on the original ones.

The rows that it is tested on are those that the release was made of, so that a release close to them flatters it;
beside it stands a classifier that is trained on originals and never saw the rows that it is tested on.
"""

from __future__ import annotations

from sfumato.errors import ParameterError, suggestion
from sfumato.evaluate.classifiers import TREES, refuse_missing_library
from sfumato.evaluate.learning import LearningSetting
from sfumato.schema import Role, Schema
from sfumato.table import Table

FOLDS, SEED = 3, 0
SENTENCE = (
    "{name}: balanced accuracy of {classifier} that learns {target} from the release, on the original rows; one "
    "that is trained on originals has {score:.3f} on rows that it has not seen"
)


class TargetScore:
    """Balanced accuracy of gradient boosting on a target; originals are coded when the first candidate is scored.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> learns = TargetScore("sex")
    >>> learns(people, schema, people) > 0.5, learns.name
    (True, 'learns sex')
    """

    def __init__(self, target: str) -> None:
        refuse_missing_library()
        self.target = target
        self._setting: LearningSetting | None = None

    def refuse_unknown(self, schema: Schema) -> None:
        """Refuse a target that is not released, before any candidate is made."""
        declared = schema.columns.get(self.target)
        if declared is None and schema.other != "keep":
            near = suggestion(self.target, schema.columns)
            raise ParameterError(f"target '{self.target}' has no role{near}; declare it, or name another column")
        if declared is not None and declared.role is Role.IDENTIFIER:
            raise ParameterError(f"target '{self.target}' is an identifier, which no release has; name another column")

    def __call__(self, original: Table, schema: Schema, released: Table) -> float:
        if self._setting is None:
            self._setting = LearningSetting.of(original, schema, self.target, None, FOLDS, SEED)
        return self._setting.score(released, TREES).balanced_accuracy

    @property
    def name(self) -> str:
        """What its column is called."""
        return f"learns {self.target}"

    @property
    def sentence(self) -> str:
        """What the column means, with the score of originals; empty where no candidate was scored."""
        if self._setting is None:
            return ""
        score = self._setting.score_of_originals(TREES).balanced_accuracy
        return SENTENCE.format(name=self.name, classifier=TREES, target=self.target, score=score)
