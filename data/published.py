"""The numbers that the five papers print, beside which `assay reproduce` puts ours, and those of two
public benchmarks: published.yaml, table by table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter
from ruamel.yaml import YAML

_PRINTED = YAML(typ="safe").load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class PrintedGrid:
    """The heading of lines that are shown together; `absent` stands for a number of ours that nothing measured.

    The page of all tables has only the lines whose cells are those of `on_page`, and not the columns of `off_page`;
    what the columns `across` say stands in its headings, so that their numbers are side by side.
    """

    title: str
    headings: tuple[str, ...]
    absent: str = "not measured"
    on_page: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    off_page: tuple[str, ...] = ()
    across: tuple[str, ...] = ()


@dataclass(frozen=True)
class PrintedTable:
    """A table that is reproduced: where the paper prints it, what it shows, and why ours differs in general."""

    paper: str
    shows: str
    why: tuple[str, ...]
    grids: tuple[PrintedGrid, ...]


PRINTED_TABLES = TypeAdapter(dict[str, PrintedTable]).validate_python(_PRINTED["tables"])

PUGH_APPROACHES = ("pl_all", "pl_indep", "ci_all", "ours")
"""The table's columns in its order: PL Conf with all LFs, PL Conf with Indep. LFs, CI LB with all LFs, Our Approach."""

BROUGHT: str = _PRINTED["whys"]["brought"]
"""Why there are no numbers of ours for a study whose data is the user's to bring."""


@dataclass(frozen=True)
class Study:
    """One case study: its name in the paper, our pipeline for it, why our numbers differ, and the paper's numbers."""

    name: str
    pipeline: str
    why: str
    majority: tuple[tuple[float, float], ...]
    snorkel: tuple[tuple[float, float], ...]

    def published(self, labeler: str, approach: str) -> tuple[float, float]:
        """ρ and p as printed.

        >>> PUGH_TABLE_1[0].published("snorkel", "ours")
        (0.595, 0.07)
        """
        return {"majority": self.majority, "snorkel": self.snorkel}[labeler][PUGH_APPROACHES.index(approach)]


PUGH_TABLE_1 = TypeAdapter(tuple[Study, ...]).validate_python(_PRINTED["pugh_1"])


TOKI_MEASURES = ("accuracy", "precision", "sensitivity", "f1", "specificity", "g_mean")


@dataclass(frozen=True)
class TokiRow:
    """One row of Table 3: data set, oracle, explainer, the six measures, and the seconds spent, where printed."""

    data_set: str
    oracle: str
    explainer: str
    measures: tuple[float, float, float, float, float, float]
    training_texts: int | None = None
    keyword_seconds: float | None = None
    label_seconds: float | None = None


TOKI_TABLE_3 = TypeAdapter(tuple[TokiRow, ...]).validate_python(_PRINTED["toki_3"])


@dataclass(frozen=True)
class Attack:
    """One attack on one data set in Table 4: success rate, mean number of words changed, two sentence similarities."""

    success_rate: float
    perturbed_words: float
    bert: float
    use: float


@dataclass(frozen=True)
class AttackRow:
    """A row of Table 4: how many instances were attacked, by the guided attack and by A2T."""

    data_set: str
    instances: int
    guided: Attack
    a2t: Attack


TOKI_TABLE_4 = TypeAdapter(tuple[AttackRow, ...]).validate_python(_PRINTED["toki_4"])
"""Table 4: the attack guided by TOKI beside A2T, ten data sets. The table spells the success rate SAR."""


XU_MEASURES = ("ACC", "AUC", "FR")
XU_CONDITIONS = TypeAdapter(tuple[tuple[str, str, str], ...]).validate_python(_PRINTED["xu_conditions"])
"""The columns of Tables 1 and 2: attack, ε, and the images it is measured on (X: training, val: validation)."""


@dataclass(frozen=True)
class Attacked:
    """One subject of Tables 1 and 2: its name in the paper, our pipeline, and a row per measure, in shares."""

    model: str
    pipeline: str
    subject: str
    rows: dict[str, tuple[float | None, ...]]


XU_TABLE_1 = TypeAdapter(tuple[Attacked, ...]).validate_python(_PRINTED["xu_1"])
XU_TABLE_2 = TypeAdapter(tuple[Attacked, ...]).validate_python(_PRINTED["xu_2"])


@dataclass(frozen=True)
class FlipProbability:
    """One subject of Table 3: its flip probability over the Robust-Benchmark."""

    model: str
    pipeline: str
    subject: str
    flip_probability: float


XU_TABLE_3 = TypeAdapter(tuple[FlipProbability, ...]).validate_python(_PRINTED["xu_3"])


@dataclass(frozen=True)
class Compared:
    """One subject of Table 4: clean accuracy, accuracy under PGD at 4/255 with 4 steps, relative flip probability."""

    model: str
    subject: str
    clean: float
    attacked: float
    relative_flips: float


XU_TABLE_4 = TypeAdapter(tuple[Compared, ...]).validate_python(_PRINTED["xu_4"])


@dataclass(frozen=True)
class Defended:
    """One subject of Table 5: its accuracy as it is, under PGD at 4/255 with 4 steps, and so with each defence."""

    model: str
    pipeline: str
    subject: str
    none: float
    attack: float
    defences: dict[str, float | None]


XU_TABLE_5 = TypeAdapter(tuple[Defended, ...]).validate_python(_PRINTED["xu_5"])
XU_TABLE_5_DEFENCES = {"standard": "Standard", "mpadvt": "MPAdvT", "maadvt": "MAAdvT"}


@dataclass(frozen=True)
class RobustBenchEntry:
    """An entry of a board of RobustBench for CIFAR-10: what is right clean, and under AutoAttack in a norm."""

    norm: str
    entry: str
    network: str
    clean: float
    robust: float


ROBUSTBENCH = TypeAdapter(tuple[RobustBenchEntry, ...]).validate_python(_PRINTED["robustbench"])
MEDMNIST_C = TypeAdapter(dict[str, float]).validate_python(_PRINTED["medmnist_c"])
"""The balanced errors of MedMNIST-C's AlexNet on PneumoniaMNIST: `clean`, and by corruption."""


REJECTED_EPS = (10.0, 20.0, 30.0, 50.0)
"""ε at which the dependent model fails the test of one model with nearly all confidence (10 ≤ ε ≤ 50)."""

BASIC_MISSES_EPS = (10.0, 75.0)
"""ε at which the pairwise test rejects a single realisation, and the basic test does not."""

TRANSITION_EPS = 6.0
"""The ε of Figure 6, between failing to reject and rejecting."""

TRANSITION_P: dict[int, tuple[float, ...]] = {1: (0.5984,), 25: (0.1851, 0.1599, 0.0661, 0.1941), 100: (0.1153,)}
"""p of N dependent models at ε = 6, one per bin; for N = 1 the mean of 100."""

TRANSITION_MEDIAN = 0.6385
"""The median of the 100 p-values of one dependent model at ε = 6."""

INDEPENDENT_EPS = 10.0
"""The ε of Figure 6 at which independent models are tested; all p lie near 1."""


ARAUJO_SETS = {"original": "clean", "synonym": "synonymy", "keyboard": "keyboard", "swap": "swap"}
"""The paper's test sets, and what the attacks are called here."""


@dataclass(frozen=True)
class TermsRow:
    """One row of Tables 2 to 6: what was measured of a model on a test set, by what it was trained with: precision,
    recall and F1 of entities (2, 4 and 5), or Pearson's r and Spearman's ρ of pairs (3 and 6)."""

    model: str
    trained: str
    tested: str
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    pearson: float | None = None
    spearman: float | None = None


CHEMICAL, DISEASE = "BC5CDR-Chemical", "BC5CDR-Disease"

ARAUJO_TABLES = TypeAdapter(dict[str, dict[str, tuple[TermsRow, ...]]]).validate_python(
    {f"araujo-{number}": _PRINTED[f"araujo_{number}"] for number in range(2, 7)}
)
"""Tables 2 to 6, each with its rows by data set."""

ARAUJO_PIPELINES = {CHEMICAL: "bc5cdr-chemical", DISEASE: "bc5cdr-disease", "BioSSES": "biosses"}
"""Per data set, the pipeline on it."""

ARAUJO_EMBEDDED = {"ner": "abstracts-ner", "sts": "abstracts-sts"}
"""The pipelines on embedded data that show the same in minutes."""
