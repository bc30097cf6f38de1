"""Exact numbers for instructions.py: formats, rounding, arithmetic on rationals. Independent of the
C code under test."""
from fractions import Fraction
from math import isqrt

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52), "e5m2": (5, 2)}
INF, NAN = "inf", "nan"
# PTX's names of rounding to a number and to an integer.
MODES = {"rn": "n", "rz": "z", "rm": "m", "rp": "p"}
INTEGRAL = {"rni": "n", "rzi": "z", "rmi": "m", "rpi": "p"}


class Real:
    """kind: a number (value, sign of zero in negative), INF or NAN."""

    def __init__(self, kind, negative=False, value=Fraction(0)):
        self.kind, self.negative, self.value = kind, negative, value

    @staticmethod
    def of(value, negative=False):
        value = Fraction(value)
        return Real("number", value < 0 or (value == 0 and negative), value)


def decode(bits, name):
    e, m = FORMATS[name]
    sign, exponent, fraction = bits >> (e + m) & 1, bits >> m & ((1 << e) - 1), bits & ((1 << m) - 1)
    bias = (1 << (e - 1)) - 1
    if exponent == (1 << e) - 1:
        return Real(NAN) if fraction else Real(INF, bool(sign))
    if exponent == 0:
        value = Fraction(fraction, 1) * Fraction(2) ** (1 - bias - m)
    else:
        value = Fraction(fraction + (1 << m), 1) * Fraction(2) ** (exponent - bias - m)
    return Real.of(-value if sign else value, bool(sign))


def quiet(name):
    return {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": None}[name]


def to_integer(value, mode):
    """A rational to an integer; modes n (nearest even), z, m, p, a (nearest, ties away)."""
    floor = value.numerator // value.denominator
    rest = value - floor
    if rest == 0:
        return floor
    if mode == "m":
        return floor
    if mode == "p":
        return floor + 1
    if mode == "z":
        return floor if value > 0 else floor + 1
    if rest != Fraction(1, 2):
        return floor + (rest > Fraction(1, 2))
    if mode == "a":
        return floor + 1 if value > 0 else floor
    return floor + (floor & 1)


def encode(real, name, mode="n"):
    """The bits of the rounded number; None for an f64 that is no number (any pattern will do)."""
    e, m = FORMATS[name]
    bias, top = (1 << (e - 1)) - 1, (1 << e) - 1
    if real.kind == NAN:
        return quiet(name)
    sign = (1 << (e + m)) if real.negative else 0
    if real.kind == INF:
        return sign | top << m
    magnitude = abs(real.value)
    if magnitude == 0:
        return sign
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    quantum = Fraction(2) ** (exponent - m)
    directed = {"p": "z" if real.negative else "p", "m": "p" if real.negative else "z"}.get(mode, mode)
    units = to_integer(magnitude / quantum, directed)
    if units >= 1 << (m + 1):
        units >>= 1
        exponent += 1
    if exponent > bias:
        largest = top << m
        return sign | (largest - 1 if directed == "z" else largest)
    if units < 1 << m:
        return sign | units
    return sign | (exponent + bias) << m | (units - (1 << m))


def flush(real, name):
    e, m = FORMATS[name]
    least = Fraction(2) ** (2 - (1 << (e - 1)))
    if real.kind == "number" and abs(real.value) < least:
        return Real.of(0, real.negative)
    return real


def negate(x):
    return x if x.kind == NAN else Real(x.kind, not x.negative, -x.value)


def add(x, y, mode="n"):
    if NAN in (x.kind, y.kind):
        return Real(NAN)
    if x.kind == INF or y.kind == INF:
        if x.kind == y.kind and x.negative != y.negative:
            return Real(NAN)
        return x if x.kind == INF else y
    total = x.value + y.value
    if total == 0:
        same = x.negative and y.negative if x.value == 0 and y.value == 0 else False
        mixed = x.negative != y.negative or x.value != 0
        return Real.of(0, same or (mixed and mode == "m"))
    return Real.of(total)


def multiply(x, y):
    if NAN in (x.kind, y.kind):
        return Real(NAN)
    negative = x.negative != y.negative
    if x.kind == INF or y.kind == INF:
        other = y if x.kind == INF else x
        return Real(NAN) if other.kind == "number" and other.value == 0 else Real(INF, negative)
    return Real.of(x.value * y.value, negative)


def divide(x, y):
    if NAN in (x.kind, y.kind) or (x.kind == INF and y.kind == INF):
        return Real(NAN)
    negative = x.negative != y.negative
    if x.kind == INF:
        return Real(INF, negative)
    if y.kind == INF:
        return Real.of(0, negative)
    if y.value == 0:
        return Real(NAN) if x.value == 0 else Real(INF, negative)
    return Real.of(x.value / y.value, negative)


def root(x):
    """The square root with 700 binary places and a sticky one: enough for any rounding."""
    if x.kind == NAN or (x.negative and not (x.kind == "number" and x.value == 0)):
        return Real(NAN)
    if x.kind == INF or x.value == 0:
        return x
    shift = 700
    scaled = (x.value.numerator << (2 * shift)) // x.value.denominator
    whole = isqrt(scaled)
    exact = whole * whole == scaled and (x.value.numerator << (2 * shift)) % x.value.denominator == 0
    return Real.of(Fraction(2 * whole + (0 if exact else 1), 2 << shift))


def compare(x, y):
    """-1, 0, 1; None when one is no number."""
    if NAN in (x.kind, y.kind):
        return None
    a = (float("inf") if not x.negative else float("-inf")) if x.kind == INF else x.value
    b = (float("inf") if not y.negative else float("-inf")) if y.kind == INF else y.value
    return (a > b) - (a < b)


def wrapped(name, function, mode="n", ftz=False, sat=False, relu=False):
    """A function of bits from one of numbers: decode, flush, compute, round, flush, saturate."""
    def run(*operands):
        reals = [decode(o, name) for o in operands]
        if ftz:
            reals = [flush(r, name) for r in reals]
        bits = encode(function(*reals), name, mode)
        if ftz and bits is not None:
            bits = encode(flush(decode(bits, name), name), name)
        if sat:
            r = Real(NAN) if bits is None else decode(bits, name)
            low = compare(r, Real.of(0))
            if low is None or low <= 0:
                bits = 0
            elif compare(r, Real.of(1)) > 0:
                bits = encode(Real.of(1), name)
        if relu and bits is not None and decode(bits, name).kind != NAN and bits >> sum(FORMATS[name]):
            bits = 0
        return bits
    return run
