"""Instruction forms on floating-point numbers, computed on rationals and rounded once."""
import math
import struct
from fractions import Fraction

import numbers_exact as x
from integer_forms import Form, bits_of, clamp, edges, signed, wrap

MODES = {"rn": "n", "rz": "z", "rm": "m", "rp": "p"}
INTEGRAL = {"rni": "n", "rzi": "z", "rmi": "m", "rpi": "p"}


def values(name, rng, more=24):
    """Zeros, infinities, no numbers, the smallest and largest, ties, and random patterns, many of
    them of ordinary size."""
    e, m = x.FORMATS[name]
    top, sign, one = ((1 << e) - 1) << m, 1 << (e + m), ((1 << (e - 1)) - 1) << m
    fixed = [0, 1, 2, (1 << m) - 1, 1 << m, (1 << m) + 1, one, one + 1, one - 1, one | 1 << (m - 1), top - 1,
             top, top | 1 << (m - 1), top | 1,
             x.encode(x.Real.of(Fraction(5, 2)), name), x.encode(x.Real.of(Fraction(7, 2)), name),
             x.encode(x.Real.of(Fraction(1, 3)), name),
             x.encode(x.Real.of(255), name), x.encode(x.Real.of(Fraction(511, 2)), name)]
    if name in ("f32", "f64", "bf16"):
        fixed += [x.encode(x.Real.of(Fraction(v)), name)
                  for v in (2**31, 2**31 - 1, 2**32, 2**63, 2**64, 65504, 65520, 65519)]
    fixed += [f | sign for f in fixed]
    ordinary = [x.encode(x.Real.of(Fraction(rng.randint(-(1 << 20), 1 << 20), 1 << rng.randint(0, 20))), name)
                for _ in range(more)]
    return fixed + ordinary + [rng.getrandbits(1 + e + m) for _ in range(more)]


def real_forms(rng):
    forms = []
    pool = {name: values(name, rng) for name in ("f16", "bf16", "f32", "f64")}

    def operand(t):
        if t == "pred":
            return rng.getrandbits(1)
        if t in pool:
            return rng.choice(pool[t])
        if t in ("f16x2", "bf16x2"):
            return rng.choice(pool[t[:-2]]) << 16 | rng.choice(pool[t[:-2]])
        return rng.choice(edges(t, rng, 6))

    def cases_of(inputs, function, n=96):
        cases = []
        for i in range(n):
            operands = [operand(t) for t in inputs]
            if i < n and inputs[0] in pool and i < len(pool[inputs[0]]):
                operands[0] = pool[inputs[0]][i]
            result = function(*operands)
            cases.append((operands, list(result) if isinstance(result, list) else [result]))
        return cases

    def form(name, inputs, outputs, function, text=None, approximate=False):
        outputs = outputs if isinstance(outputs, list) else [outputs]
        line = text or [name + " " + ", ".join([f"%d{k}" for k in range(len(outputs))]
                                               + [f"%a{k}" for k in range(len(inputs))]) + ";"]
        forms.append(Form(name, inputs, outputs, line, cases_of(inputs, function), approximate))

    def wrapped(name, function, mode="n", ftz=False, sat=False, relu=False):
        """A function of bits from one of numbers: decode, flush, compute, round, flush,
        saturate."""
        def run(*operands):
            reals = [x.decode(o, name) for o in operands]
            if ftz:
                reals = [x.flush(r, name) for r in reals]
            bits = x.encode(function(*reals), name, mode)
            if ftz and bits is not None:
                bits = x.encode(x.flush(x.decode(bits, name), name), name)
            if sat:
                r = x.Real(x.NAN) if bits is None else x.decode(bits, name)
                low = x.compare(r, x.Real.of(0))
                bits = 0 if low is None or low <= 0 else x.encode(x.Real.of(1), name) if x.compare(r,
                    x.Real.of(1)) > 0 else bits
            if relu and bits is not None and x.decode(bits,
                                                      name).kind != x.NAN and bits >> (bits_of(name) - 1):
                bits = 0
            return bits
        return run

    def twice(f):
        return lambda *ops: f(*[o & 0xFFFF for o in ops]) | f(*[o >> 16 for o in ops]) << 16

    binary = {"add": x.add, "sub": lambda a, b, m="n": x.add(a, x.negate(b), m),
              "mul": lambda a, b, m="n": x.multiply(a, b)}
    fused = lambda mode: lambda a, b, c: x.add(x.multiply(a, b), c, mode)
    for t in ("f32", "f64"):
        extras = [("", {}), (".ftz", {"ftz": True}), (".sat", {"sat": True}),
                  (".ftz.sat", {"ftz": True, "sat": True})] if t == "f32" else [("", {})]
        for r, mode in MODES.items():
            for suffix, options in extras:
                for op, f in binary.items():
                    form(f"{op}.{r}{suffix}.{t}", [t, t], t,
                         wrapped(t, lambda a, b, f=f, mode=mode: f(a, b, mode), mode, **options))
                form(f"fma.{r}{suffix}.{t}", [t] * 3, t, wrapped(t, fused(mode), mode, **options))
                form(f"mad.{r}{suffix}.{t}", [t] * 3, t, wrapped(t, fused(mode), mode, **options))
                if "sat" not in options:
                    form(f"div.{r}{suffix}.{t}", [t, t], t, wrapped(t, x.divide, mode, **options))
                    form(f"rcp.{r}{suffix}.{t}", [t], t,
                         wrapped(t, lambda a: x.divide(x.Real.of(1), a), mode, **options))
                    form(f"sqrt.{r}{suffix}.{t}", [t], t, wrapped(t, x.root, mode, **options))
        for op, f in binary.items():
            form(f"{op}.{t}", [t, t], t, wrapped(t, lambda a, b, f=f: f(a, b, "n")))
    for t in ("f16", "bf16"):
        for suffix, options in [("", {})] + ([(".ftz", {"ftz": True}), (".sat", {"sat": True}),
                                              (".ftz.sat", {"ftz": True, "sat": True})] if t == "f16"
                                              else []):
            for op, f in binary.items():
                g = wrapped(t, lambda a, b, f=f: f(a, b, "n"), **options)
                form(f"{op}{suffix}.{t}", [t, t], t, g)
                form(f"{op}.rn{suffix}.{t}x2", [t + "x2"] * 2, t + "x2", twice(g))
            g = wrapped(t, fused("n"), **options)
            form(f"fma.rn{suffix}.{t}", [t] * 3, t, g)
            form(f"fma.rn{suffix}.{t}x2", [t + "x2"] * 3, t + "x2", twice(g))
        g = wrapped(t, fused("n"), relu=True)
        form(f"fma.rn.relu.{t}", [t] * 3, t, g)
        form(f"fma.rn.relu.{t}x2", [t + "x2"] * 3, t + "x2", twice(g))

    def least(a, b, name, op, nan):
        p, q = x.decode(a, name), x.decode(b, name)
        if p.kind == x.NAN or q.kind == x.NAN:
            if nan or (p.kind == x.NAN and q.kind == x.NAN):
                return x.quiet(name)
            return b if p.kind == x.NAN else a
        order = x.compare(p, q) or (q.negative - p.negative)
        return a if (order <= 0) == (op == "min") else b

    sign_of = lambda t: 1 << (bits_of(t) - 1)
    for t in ("f32", "f16", "bf16", "f64"):
        for op in ("min", "max"):
            for nan in ("", ".NaN") if t != "f64" else ("",):
                f = lambda a, b, t=t, op=op, nan=nan: least(a, b, t, op, bool(nan))

                def magnitude(a, b, f=f, t=t):
                    r = f(a & ~sign_of(t), b & ~sign_of(t))
                    return r if x.decode(r, t).kind == x.NAN else r | (a ^ b) & sign_of(t)
                form(f"{op}{nan}.{t}", [t, t], t, f)
                if t != "f64":
                    form(f"{op}{nan}.xorsign.abs.{t}", [t, t], t, magnitude)
                if t in ("f16", "bf16"):
                    form(f"{op}{nan}.{t}x2", [t + "x2"] * 2, t + "x2", twice(f))
                    form(f"{op}{nan}.xorsign.abs.{t}x2", [t + "x2"] * 2, t + "x2", twice(magnitude))
        flushed = lambda a, t: x.encode(x.flush(x.decode(a, t), t), t) if x.decode(a, t).kind != x.NAN else a
        form(f"abs.{t}", [t], t, lambda a, t=t: a & ~sign_of(t))
        form(f"neg.{t}", [t], t, lambda a, t=t: a ^ sign_of(t))
        if t in ("f16", "bf16"):
            form(f"abs.{t}x2", [t + "x2"], t + "x2", lambda a: a & 0x7FFF7FFF)
            form(f"neg.{t}x2", [t + "x2"], t + "x2", lambda a: a ^ 0x80008000)
            form(f"selp.b16 {t}", [t, t, "pred"], t, lambda a, b, p: a if p else b,
                 ["selp.b16 %d0, %a0, %a1, %a2;"])
        if t == "f32":
            form("abs.ftz.f32", [t], t, lambda a: flushed(a & 0x7FFFFFFF, "f32"))
            form("neg.ftz.f32", [t], t, lambda a: flushed(a ^ 0x80000000, "f32"))
            for op in ("min", "max"):
                def flushed_magnitude(a, b, op=op):
                    a, b = flushed(a, "f32"), flushed(b, "f32")
                    r = least(a & 0x7FFFFFFF, b & 0x7FFFFFFF, "f32", op, False)
                    return r if x.decode(r, "f32").kind == x.NAN else r | (a ^ b) & 0x80000000
                form(f"{op}.ftz.xorsign.abs.f32", [t, t], t, flushed_magnitude)
                form(f"{op}.ftz.f32", [t, t], t,
                     lambda a, b, op=op: least(flushed(a, "f32"), flushed(b, "f32"), "f32", op, False))
    for t in ("f32", "f64"):
        form(f"copysign.{t}", [t, t], t, lambda a, b, t=t: a & sign_of(t) | b & ~sign_of(t))
        form(f"mov.{t}", [t], t, lambda a: a)
        form(f"selp.{t}", [t, t, "pred"], t, lambda a, b, p: a if p else b)
        form(f"slct.{t}.s32", [t, t, "s32"], t, lambda a, b, c: a if signed(c, "s32") >= 0 else b)
        form(f"slct.{t}.f32", [t, t, "f32"], t,
             lambda a, b, c: a if (x.compare(x.decode(c, "f32"), x.Real.of(0)) or 0) >= 0 and
             x.decode(c, "f32").kind != x.NAN else b)
        tests = {"finite": lambda r, s: r.kind == "number", "infinite": lambda r, s: r.kind == x.INF,
                 "number": lambda r, s: r.kind != x.NAN,
                 "notanumber": lambda r, s: r.kind == x.NAN,
                 "normal": lambda r, s: r.kind == "number" and r.value != 0 and not s,
                 "subnormal": lambda r, s: s}
        for name, f in tests.items():
            def test(a, f=f, t=t):
                r = x.decode(a, t)
                small = r.kind == "number" and r.value != 0 and x.flush(r, t).value == 0
                return int(f(r, small))
            form(f"testp.{name}.{t}", [t], "pred", test)
    for t in ("u16", "u32", "u64", "s16", "s32", "s64", "b16", "b32", "b64"):
        form(f"slct.{t}.f32", [t, t, "f32"], t,
             lambda a, b, c: a if (x.compare(x.decode(c, "f32"), x.Real.of(0)) or 0) >= 0 and
             x.decode(c, "f32").kind != x.NAN else b)
    orders = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1)}
    compares = {c: (lambda o, s=s: o in s) for c, s in orders.items()}
    compares.update({c + "u": (lambda o, s=s: o is None or o in s) for c, s in orders.items()})
    compares.update({"num": lambda o: o is not None, "nan": lambda o: o is None})
    for t in ("f32", "f64", "f16", "bf16"):
        for c, g in compares.items():
            f = lambda a, b, g=g, t=t: int(g(x.compare(x.decode(a, t), x.decode(b, t))))
            if t in ("f32", "f64"):
                form(f"setp.{c}.{t}", [t, t], ["pred", "pred"], lambda a, b, f=f: [f(a, b), 1 - f(a, b)],
                     [f"setp.{c}.{t} %d0|%d1, %a0, %a1;"])
                form(f"set.{c}.u32.{t}", [t, t], "u32", lambda a, b, f=f: 0xFFFFFFFF * f(a, b))
                form(f"set.{c}.f32.{t}", [t, t], "f32", lambda a, b, f=f: 0x3F800000 * f(a, b))
            else:
                one = {"f16": 0x3C00, "bf16": 0x3F80}[t]
                form(f"setp.{c}.{t}", [t, t], "pred", f)
                pair = [t + "x2"] * 2
                form(f"setp.{c}.{t}x2", pair, ["pred", "pred"],
                     lambda a, b, f=f: [f(a & 0xFFFF, b & 0xFFFF), f(a >> 16, b >> 16)],
                     [f"setp.{c}.{t}x2 %d0|%d1, %a0, %a1;"])
                form(f"set.{c}.{t}.{t}", [t, t], t, lambda a, b, f=f, one=one: one * f(a, b))
                form(f"set.{c}.{t}x2.{t}x2", pair, t + "x2", lambda a, b, f=f,
                     one=one: one * f(a & 0xFFFF, b & 0xFFFF) | one * f(a >> 16, b >> 16) << 16)
                form(f"set.{c}.u16.{t}", [t, t], "u16", lambda a, b, f=f: 0xFFFF * f(a, b))
                form(f"set.{c}.u32.{t}x2", pair, "u32",
                     lambda a, b, f=f: 0xFFFF * f(a & 0xFFFF, b & 0xFFFF) | 0xFFFF
                     * f(a >> 16, b >> 16) << 16)
        for o, k in {"and": lambda a, p: a & p, "or": lambda a, p: a | p, "xor": lambda a, p: a ^ p}.items():
            f = lambda a, b, t=t: int(x.compare(x.decode(a, t), x.decode(b, t)) == -1)
            if t in ("f32", "f64"):
                form(f"setp.lt.{o}.{t}", [t, t, "pred"], ["pred", "pred"], lambda a, b, p, f=f,
                     k=k: [k(f(a, b), p), k(1 - f(a, b), p)],
                     [f"setp.lt.{o}.{t} %d0|%d1, %a0, %a1, %a2;"])
            else:
                form(f"setp.lt.{o}.{t}", [t, t, "pred"], "pred", lambda a, b, p, f=f, k=k: k(f(a, b), p))
    flushed_order = lambda a, b: x.compare(x.flush(x.decode(a, "f32"), "f32"),
                                           x.flush(x.decode(b, "f32"), "f32"))
    form("setp.lt.ftz.f32", ["f32"] * 2, "pred", lambda a, b: int(flushed_order(a, b) == -1))
    form("set.ne.ftz.s32.f32", ["f32"] * 2, "s32",
         lambda a, b: 0xFFFFFFFF * int(flushed_order(a, b) in (-1, 1)))
    conversions(form, wrapped, pool, rng)
    approximations(form)
    return forms


def conversions(form, wrapped, pool, rng):
    integers = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]
    for t in ("f32", "f64", "f16", "bf16"):
        for i in integers if t != "bf16" else [i for i in integers if bits_of(i) > 8]:
            for r, mode in MODES.items():
                form(f"cvt.{r}.{t}.{i}", [i], t, lambda a, i=i, t=t,
                     mode=mode: x.encode(x.Real.of(signed(a, i)), t, mode))
            for r, mode in INTEGRAL.items():
                def whole(a, i=i, t=t, mode=mode):
                    v = x.decode(a, t)
                    n = bits_of(i)
                    if v.kind == x.NAN:
                        result = 1 << (n - 1) if t == "f64" or n == 64 else 0
                    elif v.kind == x.INF:
                        result = clamp(-(1 << 70) if v.negative else 1 << 70, i)
                    else:
                        result = clamp(x.to_integer(v.value, mode), i)
                    return wrap(signed(result, i), i) if n > 8 else signed(result, i) & 0xFFFF
                form(f"cvt.{r}.{i}.{t}", [t], i if bits_of(i) > 8 else "u16", whole)
        for r, mode in INTEGRAL.items():
            def integral(a, t=t, mode=mode):
                v = x.decode(a, t)
                if v.kind != "number":
                    return x.encode(v, t)
                return x.encode(x.Real.of(x.to_integer(v.value, mode), v.negative), t)
            form(f"cvt.{r}.{t}.{t}", [t], t, integral)
    wider = [("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16")]
    for to, source in wider:
        form(f"cvt.{to}.{source}", [source], to, lambda a, to=to,
             source=source: x.encode(x.decode(a, source), to))
    narrower = [("f32", "f64"), ("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"),
                ("f16", "bf16"), ("bf16", "f16")]
    for to, source in narrower:
        for r, mode in MODES.items():
            form(f"cvt.{r}.{to}.{source}", [source], to, lambda a, to=to, source=source,
                 mode=mode: x.encode(x.decode(a, source), to, mode))
    saturated = lambda bits, t: wrapped(t, lambda a: a, sat=True)(bits)
    for t in ("f32", "f64", "f16"):
        for i in integers:
            form(f"cvt.rn.sat.{t}.{i}", [i], t, lambda a, i=i,
                 t=t: saturated(x.encode(x.Real.of(signed(a, i)), t), t))
    form("cvt.rzi.sat.s32.f32", ["f32"], "s32",
         lambda a: 0 if x.decode(a, "f32").kind == x.NAN else wrap(clamp(
        (-(1 << 70) if x.decode(a, "f32").negative else 1 << 70) if x.decode(a, "f32").kind == x.INF else
        x.to_integer(x.decode(a, "f32").value, "z"), "s32"), "s32"))
    form("cvt.rpi.ftz.u32.f32", ["f32"], "u32", lambda a: 0 if x.decode(a, "f32").kind == x.NAN else clamp(
        (-(1 << 70) if x.decode(a, "f32").negative else 1 << 70) if x.decode(a, "f32").kind == x.INF else
        x.to_integer(x.flush(x.decode(a, "f32"), "f32").value, "p"), "u32"))
    for to, source in wider:
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
    form("cvt.sat.f32.f32", ["f32"], "f32", wrapped("f32", lambda a: a, sat=True))
    form("cvt.ftz.f32.f32", ["f32"], "f32", wrapped("f32", lambda a: a, ftz=True))
    form("cvt.f32.f32", ["f32"], "f32", wrapped("f32", lambda a: a))
    form("cvt.f64.f64", ["f64"], "f64", wrapped("f64", lambda a: a))
    form("cvt.sat.f64.f64", ["f64"], "f64", wrapped("f64", lambda a: a, sat=True))
    form("cvt.rn.ftz.f32.f64", ["f64"], "f32",
         lambda a: wrapped("f32", lambda r: r, ftz=True)(x.encode(x.decode(a, "f64"), "f32"))
         if x.decode(a, "f64").kind != x.NAN else x.quiet("f32"))

    def finite(bits, to, on):
        top = {"f16": 0x7C00, "bf16": 0x7F80}[to]
        return bits - 1 if on and bits & 0x7FFF == top else bits

    for to in ("f16", "bf16"):
        for r in ("rn", "rz"):
            for relu in ("", ".relu"):
                for sat in ("", ".satfinite"):
                    def one(a, to=to, r=r, relu=relu, sat=sat):
                        bits = finite(x.encode(x.decode(a, "f32"), to, MODES[r]), to, sat)
                        return 0 if relu and bits >> 15 else bits
                    form(f"cvt.{r}{relu}{sat}.{to}x2.f32", ["f32", "f32"], to + "x2",
                         lambda a, b, one=one: one(a) << 16 | one(b))
                    if relu:
                        form(f"cvt.{r}{relu}{sat}.{to}.f32", ["f32"], to, one)
    for r, mode in (("rn", "n"), ("rz", "z"), ("rna", "a")):
        def tensor(a, mode=mode):
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
        form(f"cvt.{r}.tf32.f32", ["f32"], "tf32", tensor)
        held = lambda a, tensor=tensor: (tensor(a) - 0x2000 if tensor(a) & 0x7FFFFFFF == 0x7F800000
                                         else tensor(a))
        positive = lambda bits: 0 if bits >> 31 else bits
        if r == "rna":
            form(f"cvt.{r}.satfinite.tf32.f32", ["f32"], "tf32", held)
        else:
            form(f"cvt.{r}.relu.tf32.f32", ["f32"], "tf32", lambda a, tensor=tensor: positive(tensor(a)))

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
