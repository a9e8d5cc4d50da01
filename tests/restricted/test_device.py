"""X on a device of PyTorch, here its CPU: what is found is the same, and bounds are true."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from mipselect import Instance, mistake_levels, top_supports
from mipselect.datasets import correlated_gaussian
from mipselect.errors import InvalidInput
from mipselect.mechanisms import ExponentialMechanism
from mipselect.restricted import device as on_device
from mipselect.restricted import gram
from mipselect.restricted.device import DeviceColumns, device_of
from mipselect.selectors import TopRSelector
from tests.support.designs import columns_of_every_scale

pytest.importorskip("torch")

BOUNDS: dict[str, Any] = {
    "support_size": 3, "x_bound": 0.5, "y_bound": 0.5, "coef_bound": 1.1, "ridge": 9.0
}  # fmt: skip


def data(n: int = 300, p: int = 60) -> tuple[np.ndarray, np.ndarray]:
    return correlated_gaussian(n, p, rho=0.3, snr=1.0, support_size=3, seed=1)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_found_is_the_same(
    dtype: type, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = data()
    monkeypatch.setattr(gram, "FULL_GRAM_BYTES", 2**30 if held else 0)
    monkeypatch.setattr(on_device, "PANEL_BYTES", 8 * 300 * 7)
    monkeypatch.setattr(on_device, "WIDTH", 16)
    monkeypatch.setattr(on_device, "HEIGHT", 128)
    here = Instance(X.astype(dtype), y, **BOUNDS)
    there = Instance(X.astype(dtype), y, device="cpu", **BOUNDS)
    assert isinstance(there.prepared.gram._X, DeviceColumns)
    pools, levels = (
        [search(one) for one in (here, there)] for search in (top_supports, mistake_levels)
    )
    assert np.array_equal(pools[0].supports, pools[1].supports)
    assert np.array_equal(levels[0].supports, levels[1].supports)
    off = 2.0 * here.value_error
    np.testing.assert_allclose(pools[0].values, pools[1].values, rtol=0.0, atol=off)
    np.testing.assert_allclose(levels[0].values, levels[1].values, rtol=0.0, atol=off)
    draws = [ExponentialMechanism(one, 1.0).sample(5) for one in (here, there)]
    assert draws[0] == draws[1]
    assert np.array_equal(there.with_support_size(2).X, here.X)


@pytest.mark.parametrize("n", [50, 9000])
def test_products_are_those_of_columns(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device, "PANEL_BYTES", 8 * n * 5)
    X = np.random.default_rng(0).standard_normal((n, 12)).astype(np.float32)
    columns, wide = DeviceColumns(X, "cpu"), X.astype(np.float64)
    G = wide.T @ wide
    np.testing.assert_allclose(columns.products(wide[:, :3]), G[:, :3], atol=1e-10)
    np.testing.assert_allclose(columns.products(wide[:, 0]), G[:, 0], atol=1e-10)
    found = columns.of_pairs()
    np.testing.assert_allclose(found, G, atol=1e-10)
    assert np.array_equal(found, found.T)


def tops_of(X: np.ndarray, candidates: np.ndarray, count: int) -> np.ndarray:
    diagonal = np.einsum("ij,ij->j", X, X, dtype=np.float64)
    columns = DeviceColumns(X, "cpu")
    return columns.row_tops(diagonal, candidates, count, lambda: None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("height", [3, 1000])
def test_row_tops_are_upper_bounds(
    dtype: type, height: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of every scale, zeros and copies among them, against long double products."""
    monkeypatch.setattr(on_device, "WIDTH", 4)
    monkeypatch.setattr(on_device, "HEIGHT", height)
    for seed in range(20):
        X, G, candidates, count = columns_of_every_scale(seed, dtype)
        lengths = np.sqrt(np.diagonal(G))
        for row, j in zip(tops_of(X, candidates, count), candidates, strict=True):
            others = np.sort([G[j, k] for k in candidates if k != j])[::-1][:count]
            assert np.all(row >= others)
            assert np.all(row <= others + 3e-3 * lengths[j] * lengths[candidates].max())


@pytest.mark.parametrize(("enough", "share"), [(True, 1.0), (False, 0.9)])
def test_the_allowance_for_inputs_is_needed(
    enough: bool, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unit entries are 2⁻⁷(1 + 0.47·2⁻¹⁰), which are rounded to 2⁻⁷."""
    X, full = np.ones((2**14 - 15, 2)), on_device.off_by_inputs()
    monkeypatch.setattr(on_device, "off_by_inputs", lambda: share * full)
    monkeypatch.setattr(on_device, "off_by_sums", lambda n: 0.0)
    exact = Fraction(len(X))
    assert (Fraction(float(tops_of(X, np.arange(2), 1)[0, 0])) >= exact) == enough


@pytest.mark.parametrize(("enough", "share"), [(True, 1.0), (False, 0.9)])
@pytest.mark.parametrize("n", [256, 4096])
def test_the_allowance_for_sums_is_needed(
    n: int, enough: bool, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device whose every addition loses as much as one may; unit entries are powers of two."""
    full, exactly = on_device.off_by_sums, DeviceColumns._in_single

    def losing(self: DeviceColumns, left: Any, right: Any) -> Any:
        rows = min(n, on_device.HEIGHT)
        return exactly(self, left, right) * (1.0 - rows * on_device.SUM_EPS)

    monkeypatch.setattr(DeviceColumns, "_in_single", losing)
    monkeypatch.setattr(on_device, "off_by_inputs", lambda: 0.0)
    monkeypatch.setattr(on_device, "off_by_sums", lambda n: share * full(n))
    X = np.ones((n, 2))
    assert (tops_of(X, np.arange(2), 1)[0, 0] >= n) == enough


@pytest.mark.parametrize("n", [7, 5000])
def test_sums_of_pairs_are_the_same_numbers(n: int) -> None:
    rng = np.random.default_rng(n)
    X = rng.integers(0, 3, (n, 9)).astype(float)
    y = X[:, 0] + rng.standard_normal(n)
    make = partial(Instance.from_blocks, X, y, support_size=2, partitions=3, partition_seed=4)
    here, there = make(), make(device="cpu")
    assert np.array_equal(here.data.moments.matrix, there.data.moments.matrix)
    with pytest.raises(InvalidInput, match="blocks of two rows"):
        make(block_rows=3, device="cpu")


def test_selectors_and_blocks_take_a_device() -> None:
    X, y = data()
    names = {name: BOUNDS[name] for name in ("x_bound", "y_bound", "coef_bound", "ridge")}
    for bounds in (names, {"score": "blocks"}):
        selectors = [TopRSelector(3, epsilon=5.0, random_state=3, device=device, **bounds)
                     for device in (None, "cpu")]  # fmt: skip
        one, two = (selector.fit(X, y).support_ for selector in selectors)
        assert np.array_equal(one, two)


def test_errors_say_what_is_wrong_with_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    with pytest.raises(InvalidInput, match="device='gpu7' cannot be used here"):
        Instance(X, y, device="gpu7", **BOUNDS)
    with pytest.raises(InvalidInput, match="for the squared loss, not for huber"):
        Instance(X, y, device="cpu", loss="huber(0.3)", **BOUNDS)
    sums = Instance.from_blocks(X, y, support_size=2)
    with pytest.raises(InvalidInput, match="only sums"):
        sums.on_device("cpu")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidInput, match=r"pip install 'mipselect\[gpu\]'"):
        device_of("cpu")


def test_a_gpu_that_is_not_there_is_an_error() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(InvalidInput, match="device='cuda' cannot be used here"):
        Instance(*data(), device="cuda", **BOUNDS)
