"""Models of diffprivlib, in an environment of its own: `python benchmarks/peer_models.py FILE OUT`.

FILE is an .npz of `benchmarks.released_models`: rows, target and test rows in [-1, 1], whether the
target has two classes, ε and a seed. OUT gets predictions, or log-odds, of the test rows. Nothing
of mipselect is imported.
"""

import math
import sys
import warnings

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression


def main() -> None:
    warnings.simplefilter("ignore")
    given = np.load(sys.argv[1])
    X, y, test = given["X"], given["y"], given["test"]
    shared = {"epsilon": float(given["epsilon"]), "random_state": int(given["seed"])}
    if bool(given["classes"]):
        length = math.sqrt(X.shape[1])
        model = LogisticRegression(data_norm=length, **shared).fit(X, y > 0.0)
        found = model.decision_function(test)
    else:
        limits = -np.ones(X.shape[1]), np.ones(X.shape[1])
        model = LinearRegression(bounds_X=limits, bounds_y=(-1.0, 1.0), **shared).fit(X, y)
        found = model.predict(test)
    np.save(sys.argv[2], found)


if __name__ == "__main__":
    main()
