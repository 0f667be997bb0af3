#!/usr/bin/env python3
"""Fits the polynomials of kernels/cpu/vector_math-inl.hpp and prints their coefficients.

    scripts/fit_polynomials.py            every polynomial
    scripts/fit_polynomials.py erf log    some of them

Each is the polynomial of least maximum relative error on its interval, found by Remez' exchange in 60 digits. Its
coefficients are rounded to the dtype one after another, lowest degree first; the ones behind are fitted again each
time, unless all rounded at once are better. The line above the coefficients says the interval and the largest relative error that is left. Needs mpmath
(Debian's python3-mpmath).
"""
import argparse
import struct

import mpmath as mp

mp.mp.dps = 60


def round_float32(x):
    return mp.mpf(struct.unpack('f', struct.pack('f', float(x)))[0])


def round_float64(x):
    return mp.mpf(float(x))


def remez(function, weight, powers, low, high):
    """Coefficients of `powers` with the least maximum of |weight(x) (p(x) - function(x))| on [low, high]."""
    n = len(powers)
    nodes = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * (n + 1))) for i in range(n + 1)]
    coefficients = None
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * mp.mpf(i) / 400)) / 2 for i in range(401)]
    values = [function(x) for x in grid]
    weights = [weight(x) for x in grid]
    for _ in range(12):
        matrix = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for row, x in enumerate(nodes):
            for column, power in enumerate(powers):
                matrix[row, column] = x ** power
            matrix[row, n] = (-1) ** row / weight(x)
            right[row] = function(x)
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(n)]
        errors = [w * (sum(c * x ** p for c, p in zip(coefficients, powers)) - v)
                  for x, v, w in zip(grid, values, weights)]
        # The largest error of each run of one sign.
        peaks = []
        for x, error in zip(grid, errors):
            if peaks and (error > 0) == (peaks[-1][1] > 0):
                if abs(error) > abs(peaks[-1][1]):
                    peaks[-1] = (x, error)
            else:
                peaks.append((x, error))
        while len(peaks) > n + 1:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        if len(peaks) < n + 1:
            break
        nodes = [x for x, _ in peaks]
        if max(abs(e) for _, e in peaks) < 1.001 * min(abs(e) for _, e in peaks):
            break
    return coefficients


def fit(function, weight, degree, low, high, rounded):
    """Rounded coefficients, lowest degree first, and the largest weighted error: rounded one after another, or all at
    once where that is better."""
    grid = [low + (high - low) * mp.mpf(i) / 500 for i in range(501)]

    def worst(coefficients):
        return max(abs(weight(x) * (sum(c * x ** i for i, c in enumerate(coefficients)) - function(x))) for x in grid)

    at_once = [rounded(c) for c in remez(function, weight, list(range(degree + 1)), low, high)]
    fixed = []
    while len(fixed) <= degree:
        def rest(x, fixed=tuple(fixed)):
            return function(x) - sum(c * x ** i for i, c in enumerate(fixed))
        powers = list(range(len(fixed), degree + 1))
        fixed.append(rounded(remez(rest, weight, powers, low, high)[0]))
    best = min(fixed, at_once, key=worst)
    return best, worst(best)


def near(series, radius=mp.mpf('1e-12')):
    """A function whose formula has no digits left near 0 takes its limit from beside it."""
    return lambda x: series(x if abs(x) > radius else radius)


def relative(function):
    return lambda x: 1 / abs(function(x))


def fits():
    half_log2 = mp.log(2) / 2 * mp.mpf('1.001')
    exp_tail = near(lambda r: (mp.exp(r) - 1 - r) / r ** 2)
    expm1_scale = lambda r: abs(r if abs(r) > mp.mpf('1e-12') else mp.mpf('1e-12'))
    root = mp.sqrt(2)
    log_tail = near(lambda f: (mp.log(1 + f) - f + f * f / 2) / f ** 3)
    log_weight = lambda f: abs(f * f) if abs(f) > mp.mpf('1e-9') else mp.mpf('1e-18')
    quarter = (mp.pi / 4 * mp.mpf('1.04')) ** 2
    sine = near(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
    cosine = near(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2)
    tanh = near(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
    erf = near(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z))
    # erfc(y) = exp(-y^2) R(t), t = 1 / (1 + y / 2): t runs from about 1/6 to 1 where the result is not below float32.
    erfcx_of = lambda y: mp.exp(y ** 2) * mp.erfc(y)
    erfcx = lambda t: erfcx_of(2 / t - 2)
    # The normal density's integral from x on is exp(-x^2 / 2) R(t), t = 1 / (1 + 0.29 x), for x up to 13.
    tail = lambda t: erfcx_of((1 / t - 1) / mp.mpf('0.29') / mp.sqrt(2)) / 2
    # erfinv(x) = x P(w), w = -log(1 - x^2): of w about 2.5, and from 5 on of sqrt(w) about 3.
    erfinv = near(lambda w: mp.erfinv(mp.sqrt(-mp.expm1(-w))) / mp.sqrt(-mp.expm1(-w)))
    erfinv_near, erfinv_far = (lambda v: erfinv(v + mp.mpf('2.5'))), (lambda v: erfinv((v + 3) ** 2))
    asin = near(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
    atan = near(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
    sinh = near(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z)
    return {
        # exp(r) = 1 + r + r^2 p(r); the weight holds the error of exp(r) - 1, too.
        'exp': (exp_tail, expm1_scale, 4, -half_log2, half_log2),
        # log(1 + f) = f - f^2 / 2 + f^3 p(f)
        'log': (log_tail, log_weight, 7, 1 / root - 1, root - 1),
        'sin': (sine, lambda z: z if z > 0 else mp.mpf(0), 2, mp.mpf(0), quarter),
        'cos': (cosine, lambda z: z * z, 2, mp.mpf(0), quarter),
        'tanh': (tanh, lambda z: z, 4, mp.mpf(0), mp.mpf('0.36')),
        'erf': (erf, relative(erf), 6, mp.mpf(0), mp.mpf('0.81')),
        'erfcx': (erfcx, relative(erfcx), 9, mp.mpf(1) / mp.mpf('6'), mp.mpf(1)),
        'tail': (tail, relative(tail), 8, 1 / (1 + mp.mpf('0.29') * 13), mp.mpf(1)),
        'erfinv_near': (erfinv_near, relative(erfinv_near), 8, mp.mpf('-2.5'), mp.mpf('2.55')),
        'erfinv_far': (erfinv_far, relative(erfinv_far), 9, mp.sqrt(5) - 3, mp.mpf('1.0')),
        'asin': (asin, lambda z: z, 5, mp.mpf(0), mp.mpf('0.25')),
        'atan': (atan, lambda z: z, 4, mp.mpf(0), mp.tan(mp.pi / 8) ** 2 * mp.mpf('1.01')),
        'sinh': (sinh, lambda z: z, 3, mp.mpf(0), mp.mpf(1)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', metavar='NAME', help='polynomials (default: all)')
    arguments = parser.parse_args()
    known = fits()
    for name in arguments.names or known:
        if name not in known:
            parser.error(f'no polynomial {name}; there are {", ".join(known)}')
        function, weight, degree, low, high = known[name]
        coefficients, worst = fit(function, weight, degree, low, high, round_float32)
        print(f'{name}: [{mp.nstr(low, 4)}, {mp.nstr(high, 4)}], degree {degree}, error 2^{mp.nstr(mp.log(worst, 2), 4)}')
        print('    ' + ', '.join(f'{float(c):.9g}F' for c in coefficients))


if __name__ == '__main__':
    main()
