"""Instruction forms on floating-point numbers, computed on rationals and rounded once."""
from fractions import Fraction

import numbers_exact as x
from conversion_forms import approximations, conversions
from integer_forms import COMBINE, Form, bits_of, edges, signed

EXTRAS = [("", {}), (".ftz", {"ftz": True}), (".sat", {"sat": True}),
          (".ftz.sat", {"ftz": True, "sat": True})]
BINARY = {"add": x.add, "sub": lambda a, b, m="n": x.add(a, x.negate(b), m),
          "mul": lambda a, b, m="n": x.multiply(a, b)}
ORDERS = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1)}
COMPARES = {c: (lambda o, s=s: o in s) for c, s in ORDERS.items()}
COMPARES.update({c + "u": (lambda o, s=s: o is None or o in s) for c, s in ORDERS.items()})
COMPARES.update({"num": lambda o: o is not None, "nan": lambda o: o is None})
# By PTX's name: whether a number, which is subnormal or not, is of this kind.
KINDS = {"finite": lambda r, s: r.kind == "number", "infinite": lambda r, s: r.kind == x.INF,
         "number": lambda r, s: r.kind != x.NAN, "notanumber": lambda r, s: r.kind == x.NAN,
         "normal": lambda r, s: r.kind == "number" and r.value != 0 and not s,
         "subnormal": lambda r, s: s}


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


def sign_of(t):
    return 1 << (bits_of(t) - 1)


def flushed(a, t):
    v = x.decode(a, t)
    return a if v.kind == x.NAN else x.encode(x.flush(v, t), t)


def fused(mode):
    return lambda a, b, c: x.add(x.multiply(a, b), c, mode)


def twice(f):
    return lambda *ops: f(*[o & 0xFFFF for o in ops]) | f(*[o >> 16 for o in ops]) << 16


def least(a, b, name, op, nan):
    p, q = x.decode(a, name), x.decode(b, name)
    if p.kind == x.NAN or q.kind == x.NAN:
        if nan or (p.kind == x.NAN and q.kind == x.NAN):
            return x.quiet(name)
        return b if p.kind == x.NAN else a
    order = x.compare(p, q) or (q.negative - p.negative)
    return a if (order <= 0) == (op == "min") else b


def by_sign(a, b, c):
    """What slct selects by an f32."""
    r = x.decode(c, "f32")
    return b if r.kind == x.NAN or x.compare(r, x.Real.of(0)) < 0 else a


def former(rng, forms):
    """The function that adds a form to `forms`; each draws its cases from rng when it is called."""
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
    return form


def arithmetic(form):
    for t in ("f32", "f64"):
        for r, mode in x.MODES.items():
            for suffix, options in EXTRAS if t == "f32" else EXTRAS[:1]:
                for op, f in BINARY.items():
                    form(f"{op}.{r}{suffix}.{t}", [t, t], t,
                         x.wrapped(t, lambda a, b, f=f, mode=mode: f(a, b, mode), mode, **options))
                form(f"fma.{r}{suffix}.{t}", [t] * 3, t, x.wrapped(t, fused(mode), mode, **options))
                form(f"mad.{r}{suffix}.{t}", [t] * 3, t, x.wrapped(t, fused(mode), mode, **options))
                if "sat" not in options:
                    form(f"div.{r}{suffix}.{t}", [t, t], t, x.wrapped(t, x.divide, mode, **options))
                    form(f"rcp.{r}{suffix}.{t}", [t], t,
                         x.wrapped(t, lambda a: x.divide(x.Real.of(1), a), mode, **options))
                    form(f"sqrt.{r}{suffix}.{t}", [t], t, x.wrapped(t, x.root, mode, **options))
        for op, f in BINARY.items():
            form(f"{op}.{t}", [t, t], t, x.wrapped(t, lambda a, b, f=f: f(a, b, "n")))


def arithmetic_of_16(form):
    for t in ("f16", "bf16"):
        for suffix, options in EXTRAS if t == "f16" else EXTRAS[:1]:
            for op, f in BINARY.items():
                g = x.wrapped(t, lambda a, b, f=f: f(a, b, "n"), **options)
                form(f"{op}{suffix}.{t}", [t, t], t, g)
                form(f"{op}.rn{suffix}.{t}x2", [t + "x2"] * 2, t + "x2", twice(g))
            g = x.wrapped(t, fused("n"), **options)
            form(f"fma.rn{suffix}.{t}", [t] * 3, t, g)
            form(f"fma.rn{suffix}.{t}x2", [t + "x2"] * 3, t + "x2", twice(g))
        g = x.wrapped(t, fused("n"), relu=True)
        form(f"fma.rn.relu.{t}", [t] * 3, t, g)
        form(f"fma.rn.relu.{t}x2", [t + "x2"] * 3, t + "x2", twice(g))


def least_and_largest(form, t):
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


def signs(form, t):
    form(f"abs.{t}", [t], t, lambda a, t=t: a & ~sign_of(t))
    form(f"neg.{t}", [t], t, lambda a, t=t: a ^ sign_of(t))
    if t in ("f16", "bf16"):
        form(f"abs.{t}x2", [t + "x2"], t + "x2", lambda a: a & 0x7FFF7FFF)
        form(f"neg.{t}x2", [t + "x2"], t + "x2", lambda a: a ^ 0x80008000)
        form(f"selp.b16 {t}", [t, t, "pred"], t, lambda a, b, p: a if p else b,
             ["selp.b16 %d0, %a0, %a1, %a2;"])


def flushed_signs(form):
    form("abs.ftz.f32", ["f32"], "f32", lambda a: flushed(a & 0x7FFFFFFF, "f32"))
    form("neg.ftz.f32", ["f32"], "f32", lambda a: flushed(a ^ 0x80000000, "f32"))
    for op in ("min", "max"):
        def flushed_magnitude(a, b, op=op):
            a, b = flushed(a, "f32"), flushed(b, "f32")
            r = least(a & 0x7FFFFFFF, b & 0x7FFFFFFF, "f32", op, False)
            return r if x.decode(r, "f32").kind == x.NAN else r | (a ^ b) & 0x80000000
        form(f"{op}.ftz.xorsign.abs.f32", ["f32"] * 2, "f32", flushed_magnitude)
        form(f"{op}.ftz.f32", ["f32"] * 2, "f32",
             lambda a, b, op=op: least(flushed(a, "f32"), flushed(b, "f32"), "f32", op, False))


def selections(form):
    for t in ("f32", "f64"):
        form(f"copysign.{t}", [t, t], t, lambda a, b, t=t: a & sign_of(t) | b & ~sign_of(t))
        form(f"mov.{t}", [t], t, lambda a: a)
        form(f"selp.{t}", [t, t, "pred"], t, lambda a, b, p: a if p else b)
        form(f"slct.{t}.s32", [t, t, "s32"], t, lambda a, b, c: a if signed(c, "s32") >= 0 else b)
        form(f"slct.{t}.f32", [t, t, "f32"], t, by_sign)
        for name, f in KINDS.items():
            def test(a, f=f, t=t):
                r = x.decode(a, t)
                small = r.kind == "number" and r.value != 0 and x.flush(r, t).value == 0
                return int(f(r, small))
            form(f"testp.{name}.{t}", [t], "pred", test)
    for t in ("u16", "u32", "u64", "s16", "s32", "s64", "b16", "b32", "b64"):
        form(f"slct.{t}.f32", [t, t, "f32"], t, by_sign)


def comparisons(form, t):
    for c, g in COMPARES.items():
        f = lambda a, b, g=g: int(g(x.compare(x.decode(a, t), x.decode(b, t))))
        form(f"setp.{c}.{t}", [t, t], ["pred", "pred"], lambda a, b, f=f: [f(a, b), 1 - f(a, b)],
             [f"setp.{c}.{t} %d0|%d1, %a0, %a1;"])
        form(f"set.{c}.u32.{t}", [t, t], "u32", lambda a, b, f=f: 0xFFFFFFFF * f(a, b))
        form(f"set.{c}.f32.{t}", [t, t], "f32", lambda a, b, f=f: 0x3F800000 * f(a, b))
    f = lambda a, b: int(x.compare(x.decode(a, t), x.decode(b, t)) == -1)
    for o, k in COMBINE.items():
        form(f"setp.lt.{o}.{t}", [t, t, "pred"], ["pred", "pred"],
             lambda a, b, p, k=k: [k(f(a, b), p), k(1 - f(a, b), p)],
             [f"setp.lt.{o}.{t} %d0|%d1, %a0, %a1, %a2;"])


def comparisons_of_16(form, t):
    one = {"f16": 0x3C00, "bf16": 0x3F80}[t]
    pair = [t + "x2"] * 2
    for c, g in COMPARES.items():
        f = lambda a, b, g=g: int(g(x.compare(x.decode(a, t), x.decode(b, t))))
        both = lambda a, b, f=f: [f(a & 0xFFFF, b & 0xFFFF), f(a >> 16, b >> 16)]
        form(f"setp.{c}.{t}", [t, t], "pred", f)
        form(f"setp.{c}.{t}x2", pair, ["pred", "pred"], both, [f"setp.{c}.{t}x2 %d0|%d1, %a0, %a1;"])
        form(f"set.{c}.{t}.{t}", [t, t], t, lambda a, b, f=f: one * f(a, b))
        form(f"set.{c}.{t}x2.{t}x2", pair, t + "x2", twice(lambda a, b, f=f: one * f(a, b)))
        form(f"set.{c}.u16.{t}", [t, t], "u16", lambda a, b, f=f: 0xFFFF * f(a, b))
        form(f"set.{c}.u32.{t}x2", pair, "u32", twice(lambda a, b, f=f: 0xFFFF * f(a, b)))
    f = lambda a, b: int(x.compare(x.decode(a, t), x.decode(b, t)) == -1)
    for o, k in COMBINE.items():
        form(f"setp.lt.{o}.{t}", [t, t, "pred"], "pred", lambda a, b, p, k=k: k(f(a, b), p))


def flushed_comparisons(form):
    flushed_order = lambda a, b: x.compare(x.flush(x.decode(a, "f32"), "f32"),
                                           x.flush(x.decode(b, "f32"), "f32"))
    form("setp.lt.ftz.f32", ["f32"] * 2, "pred", lambda a, b: int(flushed_order(a, b) == -1))
    form("set.ne.ftz.s32.f32", ["f32"] * 2, "s32",
         lambda a, b: 0xFFFFFFFF * int(flushed_order(a, b) in (-1, 1)))


def real_forms(rng):
    forms = []
    form = former(rng, forms)
    arithmetic(form)
    arithmetic_of_16(form)
    for t in ("f32", "f16", "bf16", "f64"):
        least_and_largest(form, t)
        signs(form, t)
        if t == "f32":
            flushed_signs(form)
    selections(form)
    for t in ("f32", "f64"):
        comparisons(form, t)
    for t in ("f16", "bf16"):
        comparisons_of_16(form, t)
    flushed_comparisons(form)
    conversions(form)
    approximations(form)
    return forms
