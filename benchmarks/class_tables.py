"""Tables with a target of two classes: generated ones like public ones, and real ones of a folder.

The generated ones have the fields, ranges, rates and skew of well-known tables, and a law of their
own; their schemas state ranges that a codebook would. Where a target is a number, the second class
is what reaches a round number.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from benchmarks.tables_at_hand import KNOWN, Table, made_up, table_of
from mipselect.tables import TableSchema

TARGET = "yes"
Fields = list[dict[str, Any]]
Made = tuple[dict[str, Any], np.ndarray, Fields]
"""Columns, logits and the fields of the schema."""

THRESHOLDS: dict[str, tuple[str, float]] = {
    "winequality_white": ("quality", 7.0),
    "bike_sharing_hour": ("cnt", 300.0),
    "cpu_act": ("usr", 95.0),
    "elevators": ("Goal", 0.025),
    "ailerons": ("goal", -0.0005),
}
"""The second class of a table of a folder: where its target is at least so much."""


def number(name: str, low: float, high: float) -> dict[str, Any]:
    limits = {"minimum": low, "maximum": high, "required": True}
    return {"name": name, "type": "number", "constraints": limits}


def category(name: str, levels: list[str], *, ordered: bool = False) -> dict[str, Any]:
    entry = {"name": name, "type": "string", "categories": levels}
    return {**entry, "categoriesOrdered": ordered, "constraints": {"required": True}}


def card_payments(rng: np.random.Generator) -> Made:
    """30,000 holders of credit cards: states of payment, and amounts with long tails."""
    n = 30_000
    late = rng.normal(size=n)
    states = np.clip(
        np.round(0.3 + 1.1 * (0.8 * late[:, None] + 0.6 * rng.normal(size=(n, 4)))) - 0.5, -2, 8
    )
    limit = np.clip(np.exp(rng.normal(11.7, 0.9, n)), 10_000, 1_000_000)
    bills = limit[:, None] * rng.beta(0.6, 1.2, (n, 3)) - rng.exponential(2_000, (n, 3))
    paid = np.clip(np.exp(rng.normal(7.5, 1.5, (n, 3))), 0, 1_700_000)
    age = np.clip(21 + rng.gamma(3.0, 5.0, n), 21, 79)
    sex, school = rng.integers(0, 2, n), rng.choice(4, n, p=[0.35, 0.47, 0.16, 0.02])
    # A state of 2 or more months is what tells, as in such tables.
    logit = -1.25 + 2.2 * (states[:, 0] >= 1.5) + 0.35 * (states[:, 1] >= 1.5)
    logit += 0.25 * states[:, 2] - 1.5 * (limit / 400_000) - 0.2 * (paid[:, 0] > 5_000)
    logit += 0.1 * sex + 0.01 * (age - 35)
    columns: dict[str, Any] = {
        "limit": limit,
        "age": age,
        "sex": np.array(["f", "m"])[sex],
        "school": np.array(["a", "b", "c", "d"])[school],
    }
    fields = [number("limit", 0, 1_000_000), number("age", 18, 100), category("sex", ["f", "m"])]
    fields.append(category("school", ["a", "b", "c", "d"]))
    for name, block, low, high in (
        ("state", states, -2, 9),
        ("bill", bills, -200_000, 1_000_000),
        ("paid", paid, 0, 2_000_000),
    ):
        for j in range(block.shape[1]):
            columns[f"{name} {j}"] = block[:, j]
            fields.append(number(f"{name} {j}", low, high))
    return columns, logit, fields


def incomes(rng: np.random.Generator) -> Made:
    """32,000 adults: categories with up to 40 values, and gains that are 0 for most."""
    n = 32_000
    sizes = {"work": 8, "marriage": 7, "job": 14, "relation": 6, "race": 5, "sex": 2, "land": 40}
    age = np.clip(17 + rng.gamma(3.0, 7.3, n), 17, 90)
    school = np.clip(np.round(rng.normal(10.1, 2.6, n)), 1, 16)
    hours = np.clip(np.round(rng.normal(40.4, 12.0, n)), 1, 99)
    gain = np.where(rng.random(n) < 0.083, np.clip(np.exp(rng.normal(8.8, 0.9, n)), 0, 99_999), 0)
    loss = np.where(rng.random(n) < 0.047, rng.normal(1870, 380, n).clip(155, 4356), 0)
    columns: dict[str, Any] = {
        "age": age, "school": school, "hours": hours, "gain": gain, "loss": loss
    }  # fmt: skip
    fields = [
        number("age", 17, 100), number("school", 1, 16), number("hours", 0, 100),
        number("gain", 0, 100_000), number("loss", 0, 5_000),
    ]  # fmt: skip
    logit = -2.2 + 0.35 * (school - 10) + 0.03 * (age - 38) + 0.03 * (hours - 40)
    logit += 3.0 * (gain > 7_000) + 1.0 * (loss > 1_700)
    for name, levels in sizes.items():
        share = rng.dirichlet(np.full(levels, 1.0)) * 0.5 + 0.5 / np.arange(1, levels + 1)
        codes = rng.choice(levels, n, p=share / share.sum())
        names = [f"{name} {k}" for k in range(levels)]
        columns[name] = np.array(names)[codes]
        fields.append(category(name, names))
        scale = {"marriage": 0.0, "job": 0.6, "sex": 0.4}.get(name, 0.15)
        logit += scale * rng.normal(size=levels)[codes]
        if name == "marriage":
            logit += 2.4 * (codes == 0)
    return columns, logit, fields


def calls_of_a_bank(rng: np.random.Generator) -> Made:
    """40,000 calls, 11 % with success: lengths with a long tail, indicators of a season."""
    n = 40_000
    seconds = np.exp(rng.normal(5.2, 0.9, n)).clip(0, 4_900)
    calls = rng.geometric(0.4, n).clip(1, 50)
    rate = rng.choice([0.7, 1.3, 4.1, 4.9], n, p=[0.12, 0.2, 0.2, 0.48])
    before = rng.choice(["none", "failed", "success"], n, p=[0.86, 0.1, 0.04])
    month = rng.integers(0, 12, n)
    months = [f"month {k}" for k in range(12)]
    age, balance = rng.normal(40, 11, n).clip(18, 95), rng.standard_t(3, n) * 1_500 + 1_000
    logit = -2.85 + 0.0040 * (seconds - 250) - 0.55 * (rate - 3.6) + 1.9 * (before == "success")
    logit += 0.4 * rng.normal(size=12)[month] - 0.08 * calls
    columns = {
        "age": age,
        "balance": balance.clip(-8_000, 100_000),
        "seconds": seconds,
        "calls": calls.astype(float),
        "rate": rate,
        "before": before,
        "month": np.array(months)[month],
    }
    fields = [
        number("age", 18, 100),
        number("balance", -10_000, 100_000),
        number("seconds", 0, 5_000),
        number("calls", 1, 60),
        number("rate", 0, 6),
        category("before", ["none", "failed", "success"]),
        category("month", months),
    ]
    return columns, logit, fields


def returns_to_a_hospital(rng: np.random.Generator) -> Made:
    """8,000 stays, 15 % of which are followed by another: weak effects of many."""
    n = 8_000
    severity = rng.normal(size=n)
    columns: dict[str, Any] = {
        "age": np.clip(rng.normal(64, 16, n), 18, 100),
        "days": np.clip(np.exp(rng.normal(1.3, 0.7, n)), 1, 60).round(),
        "drugs": np.clip(rng.poisson(15 + 4 * np.tanh(severity), n), 0, 80).astype(float),
        "visits": np.clip(rng.negative_binomial(0.5, 0.4, n), 0, 60).astype(float),
        "creatinine": np.clip(np.exp(rng.normal(0.1, 0.45, n) + 0.15 * severity), 0.2, 15),
        "sodium": np.clip(rng.normal(138, 4, n), 110, 170),
        "sugar": np.clip(np.exp(rng.normal(4.8, 0.3, n)), 30, 800),
    }
    limits = [(18, 110), (0, 120), (0, 100), (0, 100), (0, 20), (100, 180), (0, 1000)]
    fields = [number(name, *ends) for name, ends in zip(columns, limits, strict=True)]
    wards = [f"ward {k}" for k in range(10)]
    ward = rng.integers(0, 10, n)
    columns["ward"] = np.array(wards)[ward]
    columns["sex"] = rng.choice(["f", "m"], n)
    fields += [category("ward", wards), category("sex", ["f", "m"])]
    logit = -2.35 + 0.02 * (columns["age"] - 64) + 0.35 * columns["visits"].clip(0, 6)
    logit += 0.03 * (columns["drugs"] - 15) + 0.5 * np.log(columns["creatinine"])
    logit += 0.3 * rng.normal(size=10)[ward]
    return columns, logit, fields


def loans(rng: np.random.Generator) -> Made:
    """1,000 loans, 30 % in default."""
    n = 1_000
    account = rng.choice(4, n, p=[0.27, 0.27, 0.06, 0.4])
    history = rng.choice(5, n, p=[0.04, 0.05, 0.53, 0.09, 0.29])
    months = rng.choice([6, 12, 18, 24, 36, 48, 60], n, p=[0.1, 0.3, 0.13, 0.22, 0.13, 0.1, 0.02])
    amount = np.exp(rng.normal(7.8, 0.75, n) + 0.015 * (months - 20)).clip(250, 19_000)
    age = (19 + rng.gamma(2.0, 8.2, n)).clip(19, 75)
    logit = -0.9 + np.array([0.75, 0.25, -0.4, -1.0])[account]
    logit += np.array([1.0, 1.0, 0.1, 0.1, -0.7])[history] + 0.03 * (months - 20)
    logit += 0.00003 * (amount - 3_000) - 0.012 * (age - 35)
    names = [f"status {k}" for k in range(4)], [f"history {k}" for k in range(5)]
    columns = {
        "account": np.array(names[0])[account],
        "history": np.array(names[1])[history],
        "months": months.astype(float),
        "amount": amount,
        "age": age,
    }
    for k in range(5):
        columns[f"other {k}"] = rng.choice(["no", "in part", "yes"], n)
    fields = [
        category("account", names[0]), category("history", names[1]),
        number("months", 0, 72), number("amount", 0, 20_000), number("age", 18, 100),
        *(category(f"other {k}", ["no", "in part", "yes"]) for k in range(5)),
    ]  # fmt: skip
    return columns, logit, fields


def rare_faults(rng: np.random.Generator) -> Made:
    """20,000 machines, 4 % with a fault; ranges five times as wide as what is seen."""
    n = 20_000
    X = rng.normal(size=(n, 8))
    logit = -4.3 + 1.1 * X[:, 0] - 0.8 * X[:, 1] + 0.6 * X[:, 2] + 0.5 * (X[:, 3] > 1)
    columns = {f"sensor {j}": X[:, j] * 10.0**j for j in range(8)}
    fields = [number(f"sensor {j}", -15 * 10.0**j, 15 * 10.0**j) for j in range(8)]
    return columns, logit, fields


GENERATED: dict[str, Callable[[np.random.Generator], Made]] = {
    "card payments": card_payments,
    "incomes": incomes,
    "calls of a bank": calls_of_a_bank,
    "hospital returns": returns_to_a_hospital,
    "loans": loans,
    "rare faults": rare_faults,
}


def generated(name: str) -> Table:
    rng = np.random.default_rng(sum(map(ord, name)))
    columns, logit, fields = GENERATED[name](rng)
    happens = rng.random(len(logit)) < 1.0 / (1.0 + np.exp(-logit))
    frame = pd.DataFrame({**columns, TARGET: happens})
    answer = {"name": TARGET, "type": "boolean", "constraints": {"required": True}}
    return Table(name, frame, TableSchema.of({"fields": [*fields, answer]}), TARGET)


def with_threshold(table: Table, least: float) -> Table:
    """The same table, its target made into two classes."""
    frame = table.frame.assign(**{TARGET: table.frame[table.target] >= least})
    content = table.schema.content
    answer = {"name": TARGET, "type": "boolean", "constraints": {"required": True}}
    schema = TableSchema.of({**content, "fields": [*content["fields"], answer]})
    never = (*table.never, table.target)
    return replace(table, frame=frame, schema=schema, target=TARGET, never=never)


def real(folder: Path, name: str) -> Table:
    target, least = THRESHOLDS[name]
    with gzip.open(folder / f"{name}.csv.gz") as file:
        table = table_of(name, pd.read_csv(file), {"target": target, **KNOWN.get(name, {})})
    return with_threshold(table, least)


def breast_cancer() -> Table:
    data = load_breast_cancer(as_frame=True)
    frame = data.data.assign(**{TARGET: data.target == 0})
    fields = made_up(frame)["fields"]
    return Table("breast cancer", frame, TableSchema.of({"fields": fields}), TARGET, stated=False)


def class_tables(folder: Path | None) -> list[Table]:
    """All of them; without a folder those that are generated or come with scikit-learn."""
    found = [generated(name) for name in GENERATED]
    if folder is not None:
        found += [real(folder, name) for name in THRESHOLDS]
    return [*found, breast_cancer()]
