"""One measured figure, its target, and how it is printed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bench.run import Run


@dataclass(frozen=True, slots=True)
class Figure:
    """`target` is the least (`at_least`) or the most that is promised; None for a figure beside."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False

    def line(self) -> str:
        """`name value unit target ok|short`; the last two are `-` where nothing is promised."""
        value = (
            f"{self.value:.2f}" if abs(self.value) < 10 else f"{self.value:,.0f}".replace(",", "")
        )
        if self.target is None:
            return f"{self.name:<28} {value:>10} {self.unit:<8} {'-':<8} -"
        sign = ">=" if self.at_least else "<="
        reached = self.value >= self.target if self.at_least else self.value <= self.target
        verdict = "ok" if reached else "short"
        return f"{self.name:<28} {value:>10} {self.unit:<8} {sign}{self.target:<6g} {verdict}"


class Group(Protocol):
    """Figures that are measured together."""

    def __call__(self, run: "Run") -> Iterator[Figure]: ...
