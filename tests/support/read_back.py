"""Solvers that read a model file back: what it means, without any code that wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import highspy
import numpy as np


def number(name: str) -> int:
    """The feature of a column such as z(3)."""
    return int(name.removeprefix("z(").removesuffix(")"))


class ReadBack(Protocol):
    """A model that a solver has read."""

    def minimum(self, support: Iterable[int] | None = None) -> tuple[float, list[int]]:
        """The optimal objective, over all supports or at one, and the features at one."""


class ByHighs:
    """HiGHS, at one support."""

    def __init__(self, path: Path, settings: Mapping[str, float]) -> None:
        self.model: Any = highspy.Highs()
        self.model.setOptionValue("output_flag", False)
        for name, value in settings.items():
            assert self.model.setOptionValue(name, value) == highspy.HighsStatus.kOk, name
        assert self.model.readModel(str(path)) == highspy.HighsStatus.kOk

    def at(self, support: Iterable[int]) -> float:
        """The optimal objective at one support, where no integral variable is left."""
        for k, name in enumerate(self.model.getLp().col_names_):
            if name.startswith("z"):
                at = float(number(name) in set(support))
                self.model.changeColBounds(k, at, at)
                self.model.changeColIntegrality(k, highspy.HighsVarType.kContinuous)
        self.model.run()
        assert self.model.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return float(self.model.getInfo().objective_function_value)


class ByGurobi:
    """Gurobi, for any model."""

    def __init__(self, path: Path, settings: Mapping[str, float]) -> None:
        import gurobipy

        environment = gurobipy.Env(empty=True)
        environment.setParam("OutputFlag", 0)
        environment.start()
        self.model = gurobipy.read(str(path), env=environment)
        for name, value in settings.items():
            self.model.setParam(name, value)

    def minimum(self, support: Iterable[int] | None = None) -> tuple[float, list[int]]:
        z = {number(v.VarName): v for v in self.model.getVars() if v.VarName.startswith("z")}
        for j, variable in z.items():
            variable.LB = float(support is not None and j in set(support))
        self.model.optimize()
        assert self.model.Status == 2
        return self.model.ObjVal, sorted(j for j, variable in z.items() if variable.X > 0.5)


class ByScip:
    """SCIP, for any model."""

    def __init__(self, path: Path, settings: Mapping[str, float]) -> None:
        from pyscipopt import Model

        self.model = Model()
        self.model.hideOutput()
        for name, value in settings.items():
            self.model.setParam(name, value)
        self.model.readProblem(str(path))

    def minimum(self, support: Iterable[int] | None = None) -> tuple[float, list[int]]:
        model = self.model
        model.freeTransform()
        z = {number(v.name): v for v in model.getVars() if v.name.startswith("z")}
        for j, variable in z.items():
            model.chgVarLb(variable, float(support is not None and j in set(support)))
        model.optimize()
        assert model.getStatus() in ("optimal", "gaplimit")
        return model.getObjVal(), sorted(j for j, v in z.items() if model.getVal(v) > 0.5)


READERS: Mapping[str, type[ReadBack]] = {"gurobi": ByGurobi, "scip": ByScip}


def some_of(supports: np.ndarray, count: int) -> np.ndarray:
    """So many of all supports, spread evenly."""
    return supports[:: max(1, len(supports) // count)]
