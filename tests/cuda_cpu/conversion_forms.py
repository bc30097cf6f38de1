"""Instruction forms that convert floating-point numbers, and approximations, computed on rationals and
rounded once."""
import math
import struct
from fractions import Fraction

import numbers_exact as x
from integer_forms import bits_of, clamp, signed, wrap

INTEGERS = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]
# Formats without rounding (TO, FROM), and with.
WIDER = [("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16")]
NARROWER = [("f32", "f64"), ("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f16", "bf16"),
            ("bf16", "f16")]


def whole(v, to, mode, no_number=0):
    """The integer of type `to` that is nearest by mode."""
    if v.kind == x.NAN:
        return no_number
    if v.kind == x.INF:
        return clamp(-(1 << 70) if v.negative else 1 << 70, to)
    return clamp(x.to_integer(v.value, mode), to)


def saturated(bits, t):
    return x.wrapped(t, lambda a: a, sat=True)(bits)


def of_integers(form):
    for t in ("f32", "f64", "f16", "bf16"):
        for i in INTEGERS if t != "bf16" else [i for i in INTEGERS if bits_of(i) > 8]:
            for r, mode in x.MODES.items():
                form(f"cvt.{r}.{t}.{i}", [i], t, lambda a, i=i, t=t,
                     mode=mode: x.encode(x.Real.of(signed(a, i)), t, mode))
            for r, mode in x.INTEGRAL.items():
                def to_whole(a, i=i, t=t, mode=mode):
                    no_number = 1 << (bits_of(i) - 1) if t == "f64" or bits_of(i) == 64 else 0
                    result = signed(whole(x.decode(a, t), i, mode, no_number), i)
                    return wrap(result, i) if bits_of(i) > 8 else result & 0xFFFF
                form(f"cvt.{r}.{i}.{t}", [t], i if bits_of(i) > 8 else "u16", to_whole)
        for r, mode in x.INTEGRAL.items():
            def integral(a, t=t, mode=mode):
                v = x.decode(a, t)
                if v.kind != "number":
                    return x.encode(v, t)
                return x.encode(x.Real.of(x.to_integer(v.value, mode), v.negative), t)
            form(f"cvt.{r}.{t}.{t}", [t], t, integral)


def between_formats(form):
    for to, source in WIDER:
        form(f"cvt.{to}.{source}", [source], to, lambda a, to=to,
             source=source: x.encode(x.decode(a, source), to))
    for to, source in NARROWER:
        for r, mode in x.MODES.items():
            form(f"cvt.{r}.{to}.{source}", [source], to, lambda a, to=to, source=source,
                 mode=mode: x.encode(x.decode(a, source), to, mode))
    for t in ("f32", "f64", "f16"):
        for i in INTEGERS:
            form(f"cvt.rn.sat.{t}.{i}", [i], t, lambda a, i=i,
                 t=t: saturated(x.encode(x.Real.of(signed(a, i)), t), t))


def flushed_and_saturated(form):
    form("cvt.rzi.sat.s32.f32", ["f32"], "s32", lambda a: wrap(whole(x.decode(a, "f32"), "s32", "z"), "s32"))
    form("cvt.rpi.ftz.u32.f32", ["f32"], "u32",
         lambda a: whole(x.flush(x.decode(a, "f32"), "f32"), "u32", "p"))
    for to, source in WIDER:
        if source == "bf16":
            continue
        form(f"cvt.sat.{to}.{source}", [source], to, lambda a, to=to,
             source=source: saturated(x.encode(x.decode(a, source), to) if
             x.decode(a, source).kind != x.NAN else 0, to))
    form("cvt.ftz.f64.f32", ["f32"], "f64", lambda a: x.encode(x.flush(x.decode(a, "f32"), "f32"), "f64"))
    form("cvt.ftz.f32.f16", ["f16"], "f32", lambda a: x.encode(x.decode(a, "f16"), "f32"))
    form("cvt.sat.f16.f16", ["f16"], "f16", lambda a: saturated(a, "f16"))
    form("cvt.rn.sat.f32.f64", ["f64"], "f32",
         lambda a: saturated(x.encode(x.decode(a, "f64"), "f32"), "f32"))
    form("cvt.rn.sat.f16.f32", ["f32"], "f16",
         lambda a: saturated(x.encode(x.decode(a, "f32"), "f16"), "f16"))
    form("cvt.rn.ftz.f16.f32", ["f32"], "f16", lambda a: x.encode(x.flush(x.decode(a, "f32"), "f32"), "f16"))
    form("slct.ftz.f32.f32", ["f32"] * 3, "f32",
         lambda a, b, c: a if x.compare(x.flush(x.decode(c, "f32"), "f32"), x.Real.of(0)) in (0, 1) else b)
    form("cvt.sat.f32.f32", ["f32"], "f32", x.wrapped("f32", lambda a: a, sat=True))
    form("cvt.ftz.f32.f32", ["f32"], "f32", x.wrapped("f32", lambda a: a, ftz=True))
    form("cvt.f32.f32", ["f32"], "f32", x.wrapped("f32", lambda a: a))
    form("cvt.f64.f64", ["f64"], "f64", x.wrapped("f64", lambda a: a))
    form("cvt.sat.f64.f64", ["f64"], "f64", x.wrapped("f64", lambda a: a, sat=True))
    form("cvt.rn.ftz.f32.f64", ["f64"], "f32",
         lambda a: x.wrapped("f32", lambda r: r, ftz=True)(x.encode(x.decode(a, "f64"), "f32"))
         if x.decode(a, "f64").kind != x.NAN else x.quiet("f32"))


def finite(bits, to, on):
    top = {"f16": 0x7C00, "bf16": 0x7F80}[to]
    return bits - 1 if on and bits & 0x7FFF == top else bits


def pairs_of_16(form):
    for to in ("f16", "bf16"):
        for r in ("rn", "rz"):
            for relu in ("", ".relu"):
                for sat in ("", ".satfinite"):
                    def one(a, to=to, r=r, relu=relu, sat=sat):
                        bits = finite(x.encode(x.decode(a, "f32"), to, x.MODES[r]), to, sat)
                        return 0 if relu and bits >> 15 else bits
                    form(f"cvt.{r}{relu}{sat}.{to}x2.f32", ["f32", "f32"], to + "x2",
                         lambda a, b, one=one: one(a) << 16 | one(b))
                    if relu:
                        form(f"cvt.{r}{relu}{sat}.{to}.f32", ["f32"], to, one)


def tensor(a, mode):
    """The bits of an f32 with 10 bits of fraction."""
    v = x.decode(a, "f32")
    if v.kind != "number":
        return x.encode(v, "f32")
    e = max((abs(v.value).numerator.bit_length() - abs(v.value).denominator.bit_length()),
            -127) if v.value else 0
    magnitude = abs(v.value)
    while magnitude and Fraction(2) ** e > magnitude:
        e -= 1
    e = max(e, -126)
    units = x.to_integer(magnitude / Fraction(2) ** (e - 10), mode)
    return x.encode(x.Real.of((-1 if v.negative else 1) * units * Fraction(2) ** (e - 10),
                              v.negative), "f32")


def tensors(form):
    for r, mode in (("rn", "n"), ("rz", "z"), ("rna", "a")):
        f = lambda a, mode=mode: tensor(a, mode)
        form(f"cvt.{r}.tf32.f32", ["f32"], "tf32", f)
        if r == "rna":
            form(f"cvt.{r}.satfinite.tf32.f32", ["f32"], "tf32",
                 lambda a, f=f: f(a) - 0x2000 if f(a) & 0x7FFFFFFF == 0x7F800000 else f(a))
        else:
            form(f"cvt.{r}.relu.tf32.f32", ["f32"], "tf32", lambda a, f=f: 0 if f(a) >> 31 else f(a))


def eight(a, kind):
    v = x.decode(a, "f32")
    sign = 0x80 if v.negative else 0
    largest = Fraction(448) if kind == "e4m3" else Fraction(57344)
    if v.kind == x.NAN:
        return 0x7F
    if v.kind == x.INF:
        return sign | (0x7E if kind == "e4m3" else 0x7B)
    e, m = (4, 3) if kind == "e4m3" else (5, 2)
    bias = (1 << (e - 1)) - 1
    magnitude = abs(v.value)
    exponent = 1 - bias
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    rounded = x.to_integer(magnitude / Fraction(2) ** (exponent - m), "n") * Fraction(2) ** (exponent - m)
    rounded = min(rounded, largest)
    exponent = 1 - bias
    while rounded >= Fraction(2) ** (exponent + 1):
        exponent += 1
    units = int(rounded / Fraction(2) ** (exponent - m))
    return sign | (units if units < 1 << m else (exponent + bias) << m | (units - (1 << m)))


def eight_value(b, kind):
    e, m = (4, 3) if kind == "e4m3" else (5, 2)
    bias = (1 << (e - 1)) - 1
    exponent, fraction = b >> m & ((1 << e) - 1), b & ((1 << m) - 1)
    if (kind == "e4m3" and b & 0x7F == 0x7F) or (kind == "e5m2" and exponent == 31 and fraction):
        return x.Real(x.NAN)
    if kind == "e5m2" and exponent == 31:
        return x.Real(x.INF, bool(b >> 7))
    v = Fraction(fraction, 1 << m) * Fraction(2) ** (1 - bias) if exponent == 0 else (1
        + Fraction(fraction, 1 << m)) * Fraction(2) ** (exponent - bias)
    return x.Real.of(-v if b >> 7 else v, bool(b >> 7))


def eights(form):
    """Pairs of 8-bit formats."""
    for kind in ("e4m3", "e5m2"):
        form(f"cvt.rn.satfinite.{kind}x2.f32", ["f32", "f32"], f"{kind}x2",
             lambda a, b, kind=kind: eight(a, kind) << 8 | eight(b, kind))
        half = lambda a, kind=kind: eight(x.encode(x.decode(a, "f16"), "f32"), kind)
        form(f"cvt.rn.satfinite.{kind}x2.f16x2", ["f16x2"], f"{kind}x2",
             lambda a, half=half: half(a >> 16) << 8 | half(a & 0xFFFF))
        relu = lambda b: 0 if b >> 7 else b
        form(f"cvt.rn.satfinite.relu.{kind}x2.f32", ["f32", "f32"], f"{kind}x2",
             lambda a, b, kind=kind: relu(eight(a, kind)) << 8 | relu(eight(b, kind)))
        form(f"cvt.rn.satfinite.relu.{kind}x2.f16x2", ["f16x2"], f"{kind}x2",
             lambda a, half=half: relu(half(a >> 16)) << 8 | relu(half(a & 0xFFFF)))
        positive16 = lambda h: 0 if h >> 15 else h
        form(f"cvt.rn.relu.f16x2.{kind}x2", ["u16"], "f16x2",
             lambda a, kind=kind: positive16(x.encode(eight_value(a >> 8, kind), "f16")) << 16 |
             positive16(x.encode(eight_value(a & 255, kind), "f16")))
        form(f"cvt.rn.f16x2.{kind}x2", ["u16"], "f16x2",
             lambda a, kind=kind: x.encode(eight_value(a >> 8, kind), "f16") << 16 |
             x.encode(eight_value(a & 255, kind), "f16"))


def conversions(form):
    for group in (of_integers, between_formats, flushed_and_saturated, pairs_of_16, tensors, eights):
        group(form)


def approximations(form):
    """Results within the documented error: relative, or absolute where the documentation says
    so."""
    def float_of(bits):
        return struct.unpack("<f", struct.pack("<I", bits))[0]

    def near(function, name="f32", relative=2.0**-20, absolute=0.0, ftz=False):
        def run(*operands):
            reals = [x.decode(o, name) for o in operands]
            if ftz:
                reals = [x.flush(r, name) for r in reals]
            if any(r.kind != "number" for r in reals):
                return None, None
            arguments = [float(r.value) for r in reals]
            try:
                value = function(*arguments)
            except (ValueError, ZeroDivisionError, OverflowError):
                return None, None
            if math.isnan(value) or math.isinf(value) or abs(value) > (60000 if name == "f16"
                else 1e38) or (value != 0 and abs(value) < 1e-37):
                return None, None
            error = abs(value) * relative + absolute
            low, high = value - error, value + error
            if name == "f64":
                return tuple(struct.unpack("<Q", struct.pack("<d", v))[0] for v in (low, high))
            return tuple(x.encode(x.Real.of(Fraction(v)), "f32") for v in (low, high))
        return run

    for t, ftz in (("f32", ""), ("f32", ".ftz")):
        form(f"div.approx{ftz}.f32", [t, t], t, near(lambda a, b: a / b, ftz=bool(ftz)), approximate=True)
        form(f"div.full{ftz}.f32", [t, t], t, near(lambda a, b: a / b, ftz=bool(ftz)), approximate=True)
        form(f"rcp.approx{ftz}.f32", [t], t, near(lambda a: 1 / a, ftz=bool(ftz)), approximate=True)
        form(f"sqrt.approx{ftz}.f32", [t], t, near(math.sqrt, ftz=bool(ftz)), approximate=True)
        form(f"rsqrt.approx{ftz}.f32", [t], t, near(lambda a: 1 / math.sqrt(a), ftz=bool(ftz)),
             approximate=True)
        form(f"sin.approx{ftz}.f32", [t], t,
             near(lambda a: math.sin(a) if abs(a) < 3 else math.nan, relative=0, absolute=2.0**-20),
             approximate=True)
        form(f"cos.approx{ftz}.f32", [t], t,
             near(lambda a: math.cos(a) if abs(a) < 3 else math.nan, relative=0, absolute=2.0**-20),
             approximate=True)
        form(f"lg2.approx{ftz}.f32", [t], t, near(math.log2, absolute=2.0**-22, ftz=bool(ftz)),
             approximate=True)
        form(f"ex2.approx{ftz}.f32", [t], t, near(lambda a: 2.0**a, ftz=bool(ftz)), approximate=True)
    form("tanh.approx.f32", ["f32"], "f32", near(math.tanh, relative=2.0**-11), approximate=True)
    form("rsqrt.approx.f64", ["f64"], "f64", near(lambda a: 1 / math.sqrt(a), "f64"), approximate=True)
    form("rsqrt.approx.ftz.f64", ["f64"], "f64", near(lambda a: 1 / math.sqrt(a), "f64", ftz=True),
         approximate=True)
    form("rcp.approx.ftz.f64", ["f64"], "f64", near(lambda a: 1 / a, "f64", ftz=True), approximate=True)
    for t, error in (("f16", 2.0**-9.9), ("bf16", 2.0**-7)):
        for op, f in (("ex2.approx", lambda a: 2.0**a), ("tanh.approx", math.tanh)):
            ftz = ".ftz" if op == "ex2.approx" and t == "bf16" else ""
            g = near(f, t, relative=error, absolute=2.0**-24)
            form(f"{op}{ftz}.{t}", [t], "f32", g,
                 [f".reg .b16 %h;", f"{op}{ftz}.{t} %h, %a0;", f"cvt.f32.{t} %d0, %h;"], approximate=True)
            for which, part in ((0, "%l"), (1, "%h")):
                half = lambda a, g=g, which=which: g(a >> (16 * which) & 0xFFFF)
                form(f"{op}{ftz}.{t}x2 {which}", [t + "x2"], "f32", half,
                     [".reg .b16 %l, %h;", f"{op}{ftz}.{t}x2 %a0, %a0;", "mov.b32 {%l, %h}, %a0;",
                      f"cvt.f32.{t} %d0, {part};"], approximate=True)
