"""Linear level-set policies the slow and obvious way: inverses and centres are computed from all rows, with NumPy."""

import math

import numpy as np

from heavybandits.algorithms.linear._level_set.two_piece_laws import (
    ABOVE,
    BELOW,
    GROSS,
    INFORMATION,
    LEARNED,
    LEAST_SQUARES,
    NORM,
    RATIO,
    SHARPNESS,
    SLACK,
    TAIL,
    WEIGHT,
    two_piece_table,
)  # fmt: skip
from heavybandits.protocols import FloatArray

LAWS = two_piece_table((*LEARNED, LEAST_SQUARES))
MEANS = len(LAWS) - 1


def parts(law: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights and the losses of residuals in units of the scale."""
    if law[GROSS] > 0:
        core, gross = np.exp(-(z**2) / 2), law[GROSS] / (1 + z**2 / 25)
        return (core + gross * 2 / (25 + z**2)) / (core + gross), -np.log(core + gross)
    degrees, ratio = np.where(z < 0, law[BELOW], law[ABOVE]), np.where(z < 0, 1.0, law[RATIO])
    y = z / ratio
    return (degrees + 1) / (degrees + y**2) / ratio**2, (degrees + 1) / 2 * np.log1p(y**2 / degrees)


def repeats(y: FloatArray) -> bool:
    """Return whether rewards repeat because their law has atoms, or light tails."""
    differences = np.abs(np.diff(y))
    others = differences[differences > 0]
    equal, pairs = len(differences) - len(others), len(differences)
    if pairs < 20 or not equal > 0.1 * pairs + 2.5 * math.sqrt(0.1 * 0.9 * pairs):
        return False
    near = equal + int((others <= 1.001 * others.min(initial=math.inf)).sum())
    kurtosis = len(others) * (others**4).sum() / (others**2).sum() ** 2 if len(others) else 0.0
    return bool(equal > 2 / 3 * near + 2.5 * math.sqrt(2 / 9 * near) or kurtosis <= 0.3 * math.sqrt(len(others)))


def squares(rows: FloatArray) -> FloatArray:
    """Return the mean square of each feature where it is not zero; of one that never is, the largest."""
    found = (rows**2).sum(axis=0) / np.maximum((rows != 0).sum(axis=0), 1)
    return np.asarray(np.where(found > 0, found, found.max()))


def filled(rows: FloatArray) -> float:
    """Return how many features of a row are not zero."""
    return max(float((rows != 0).sum(axis=1).mean()), 1.0)


class LinearAuto:
    """Learns from rows and rewards, and returns the index of any row."""

    def __init__(self, offers: FloatArray, only_means: bool) -> None:
        self.only_means, self.law = only_means, MEANS if only_means else 0
        self.x, self.y = np.zeros((0, offers.shape[1])), np.zeros(0)
        self.weights = np.zeros(0)
        self.slope, self.level, self.start = np.zeros(offers.shape[1]), 0.0, offers.mean(axis=0)
        self.ridge = self.first_ridge(offers, 1.0) * squares(offers)
        self.scale, self.floor, self.due, self.fitted = math.inf, 0.0, 0.0, False
        self.squares, self.freedom = 0.0, 0.0

    @property
    def mass(self) -> float:
        return float(self.weights.sum())

    @property
    def centre(self) -> FloatArray:
        return self.start if self.mass == 0 else np.asarray(np.average(self.x, axis=0, weights=self.weights))

    @property
    def inverse(self) -> FloatArray:
        centred = self.x - self.centre
        return np.asarray(np.linalg.inv(centred.T @ (self.weights[:, None] * centred) + np.diag(self.ridge)))

    @property
    def dimension(self) -> float:
        return float(1 + (1 - self.ridge * self.inverse.diagonal()).sum())

    def is_young(self, dimension: float) -> bool:
        return len(self.slope) > 12 and len(self.y) < 8 * dimension / (1 + min(1, 12 / dimension))

    def first_ridge(self, rows: FloatArray, dimension: float) -> float:
        return filled(rows) if self.is_young(dimension) else 1e-6

    def index(self, features: FloatArray) -> FloatArray:
        if not self.fitted:
            return np.full(len(features), math.inf)
        away, law, scale, d = features - self.centre, LAWS[self.law], self.scale, self.dimension
        if self.is_young(d):
            law, scale = LAWS[MEANS], scale / math.sqrt(law[INFORMATION])
        h = np.einsum("ki,ij,kj->k", away, self.inverse, away)
        u, k = (len(self.y) + 1) * h / d, law[SLACK]
        held = np.minimum(h, 0.5) if len(self.slope) > 12 else h
        left = np.where(k * held < 0.999, 1 - k * held, 0)  # where nothing is left, widths are infinite
        with np.errstate(divide="ignore", over="ignore"):
            level = np.log(1 + min(1, 12 / d) * (0.3 + u * (1 + 2 * k / 3 * np.log(1 + u) ** 2))) / left
            width = scale * np.sqrt(law[TAIL] / law[INFORMATION] * np.expm1(2 * level * held / law[TAIL]) * (h / held))
        return np.asarray(self.level + away @ self.slope + width)

    def learn(self, x: FloatArray, y: float) -> None:
        away, mass = x - self.centre, self.mass
        u = self.inverse @ away
        residual, h, n = y - self.level - float(away @ self.slope), float(away @ u), len(self.y) + 1
        weight = gain = 1.0
        if self.fitted:
            law, z = LAWS[self.law], residual / self.scale
            w = float(parts(law, np.array([z]))[0][0])
            weight, gain = w / law[WEIGHT], w / law[INFORMATION]
            if self.law == MEANS:
                self.squares, self.freedom = self.squares + residual**2 / (1 + h + 1 / mass), self.freedom + 1
                self.scale = max(math.sqrt(self.squares / self.freedom), self.floor)
            else:
                self.scale = max(self.scale * math.exp((w * z * z - 1) / (law[SHARPNESS] * n)), self.floor)
        total = mass + weight
        self.level += (weight * float(away @ self.slope) + gain * residual) / total
        if self.fitted:
            self.slope = self.slope + mass / total * gain * residual / (1 + weight * mass / total * h) * u
        self.x, self.y = np.vstack([self.x, x]), np.append(self.y, y)
        self.weights = np.append(self.weights, weight)
        if n >= max(self.due, self.dimension + 2.5):
            self.fit()

    def fit(self) -> None:
        y, n, freedom = self.y, len(self.y), len(self.y) - self.dimension
        square, young, share = squares(self.x), self.is_young(n - freedom), self.first_ridge(self.x, n - freedom)
        self.due = max(n + 1, (1.5 if young else 1.25) * n)
        self.known = self.inverse  # as it was before the fit
        spread = np.median(np.abs(y - np.median(y))) or np.abs(y - np.median(y)).mean()
        self.floor, begins = 1e-4 * spread, not self.fitted
        if not self.only_means:
            by_means = repeats(y)
            begins = begins or by_means != (self.law == MEANS)
            self.law = (MEANS if by_means else 0) if begins else self.law
        if begins:
            self.slope, self.level, self.ridge = 0 * self.slope, float(np.median(y)), share * square
        (self.fit_means if self.law == MEANS else self.fit_locations)(freedom, spread, square, begins)
        self.step(self.scale)
        self.slope = self.inverse @ ((self.x - self.centre).T @ (self.weights * (self.y - self.level)))
        self.fitted = True

    def fit_means(self, freedom: float, spread: float, square: FloatArray, begins: bool) -> None:
        self.reweigh(1.0, 1, square)
        found = max(math.sqrt((self.residuals**2).sum() / freedom), self.floor)
        self.scale = self.shrunk(found, 1.48 * spread, freedom, 3)
        self.squares, self.freedom = self.scale**2 * freedom, freedom
        self.learn_ridge(square, len(self.y) - freedom)

    def fit_locations(self, freedom: float, spread: float, square: FloatArray, begins: bool) -> None:
        if begins:
            self.scale = spread
            self.reweigh(self.scale, 15, square, absolute=True)
        elif len(self.y) < 20 * (len(self.y) - freedom):
            before, loss = (self.slope, self.level, self.weights), self.loss()
            self.reweigh(self.scale, 6, square, absolute=True)
            self.reweigh(self.scale, 3, square)
            if not self.loss() < loss:
                self.slope, self.level, self.weights = before
        self.reweigh(self.scale, 3, square)
        self.choose_law(freedom)
        ratio = LAWS[self.law][RATIO]
        self.scale = max(self.shrunk(self.scale, 2 * spread / (1 + ratio), freedom, 5), self.floor)
        self.learn_ridge(square, len(self.y) - freedom)
        self.reweigh(self.scale, 1, square)

    @property
    def residuals(self) -> FloatArray:
        return np.asarray(self.y - self.level - (self.x - self.centre) @ self.slope)

    def loss(self) -> float:
        return float(parts(LAWS[self.law], self.residuals / self.scale)[1].sum())

    def shrunk(self, scale: float, guess: float, freedom: float, weight: float) -> float:
        share = weight / (freedom + weight) if freedom < 60 else 0.0
        return float(scale ** (1 - share) * guess**share)

    def step(self, scale: float, absolute: bool = False) -> float:
        """Weigh the residuals and move the line by their weighted mean; return the gain in squared residuals."""
        residuals, law = self.residuals, LAWS[self.law]
        z, at = residuals / scale, self.level - float(self.centre @ self.slope)
        self.weights = 1 / np.maximum(np.abs(z), 0.05) if absolute else parts(law, z)[0] / law[WEIGHT]
        mean = float(np.average(residuals, weights=self.weights))
        self.level = at + mean + float(self.centre @ self.slope)
        return self.mass * mean**2

    def reweigh(self, scale: float, steps: int, square: FloatArray, absolute: bool = False) -> None:
        for step in range(steps):
            gain = self.step(scale, absolute)
            away = self.x - self.centre
            gram = away.T @ (self.weights[:, None] * away) + np.diag(self.ridge)
            right = away.T @ (self.weights * self.residuals) - self.ridge * self.slope
            course = bent = self.known @ right
            first = size = float(right @ bent)
            if step > 0 and gain + size < 1e-6 * scale**2:
                break
            for _ in range(8):
                image = gram @ course
                length = size / float(course @ image)
                self.slope, right = self.slope + length * course, right - length * image
                bent = self.known @ right
                before, size = size, float(right @ bent)
                if not size > 1e-3 * first:
                    break
                course = bent + size / before * course

    def choose_law(self, freedom: float) -> None:
        residuals, guess = self.residuals, self.scale
        found: list[tuple[float, int, float, float]] = []
        for j, law in enumerate(LAWS[:MEANS]):
            shift, scale = 0.0, guess
            for _ in range(12):
                z = (residuals - shift) / scale
                w = parts(law, z)[0]
                shift += scale * (w * z).sum() / w.sum()
                excess = (w * z * z).sum() / freedom
                scale *= math.exp(np.clip(math.log(excess) / law[SHARPNESS], -3, 3))
                if abs(excess - 1) < 1e-3 and abs((w * z).sum()) < 1e-2 * w.sum():
                    break
            likelihood = -len(residuals) * (law[NORM] + math.log(scale / guess))
            likelihood -= parts(law, (residuals - shift) / scale)[1].sum()
            prior = 0.7 * (j == 0) - 1.0 * (law[RATIO] != 1 or law[GROSS] > 0)
            found.append((0.5 * freedom / len(residuals) * likelihood + prior, j, shift, scale))
        _, self.law, shift, self.scale = max(found, key=lambda one: one[0])
        self.level += shift

    def learn_ridge(self, square: FloatArray, parameters: float) -> None:
        variance = self.scale**2 / LAWS[self.law][INFORMATION]
        caution, size = 0.3, (square * (self.slope**2 + variance * self.known.diagonal())).mean()
        if self.is_young(parameters):
            caution, size = 1.0, max((square * self.slope**2).sum() / max(parameters - 1, 1), variance / filled(self.x))
        self.ridge = max(1e-6, caution * variance / size) * square
