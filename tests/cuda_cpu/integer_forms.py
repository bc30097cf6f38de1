"""Instruction forms on integers and bits, with results computed from their definitions on Python's
integers."""


class Form:
    def __init__(self, name, inputs, outputs, text, cases, approximate=False):
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self.text, self.cases, self.approximate = text, cases, approximate


def bits_of(t):
    return int("".join(c for c in t if c.isdigit()))


def wrap(x, t):
    return x & ((1 << bits_of(t)) - 1)


def signed(x, t):
    """The value of bits x read as type t."""
    n = bits_of(t)
    x &= (1 << n) - 1
    return x - (1 << n) if t[0] == "s" and x >> (n - 1) else x


def edges(t, rng, more=10):
    n = bits_of(t)
    fixed = [0, 1, 2, 3, 31, 32, 33, (1 << (n - 1)) - 1, 1 << (n - 1), (1 << (n - 1)) + 1, (1 << n) - 2,
             (1 << n) - 1, 0x55555555 & ((1 << n) - 1)]
    return [x & ((1 << n) - 1) for x in fixed] + [rng.getrandbits(n) for _ in range(more)]


def tuples(types, rng, n=64):
    """Cases of operands: each edge value of each operand at least once with random company."""
    sets = [edges(t, rng) if t != "pred" else [0, 1] for t in types]
    cases = [[rng.choice(s) for s in sets] for _ in range(n)]
    for k, s in enumerate(sets):
        for i, value in enumerate(s):
            cases[(i * len(sets) + k) % n][k] = value
    return cases


ALL = ["u16", "u32", "u64", "s16", "s32", "s64"]


def clamp(x, t):
    n = bits_of(t)
    low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if t[0] == "s" else (0, (1 << n) - 1)
    return max(low, min(high, x))


def low24(x, t):
    x &= 0xFFFFFF
    return x - (1 << 24) if t[0] == "s" and x >> 23 else x


def truncated(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def divide(a, b, t):
    return -1 if b == 0 else truncated(a, b)


def remainder(a, b, t):
    return a if b == 0 else a - b * truncated(a, b)


def bit_field(a, b, c, t):
    n = bits_of(t)
    at, length = b & 255, c & 255
    sign = 0 if t[0] == "u" or length == 0 else a >> min(at + length - 1, n - 1) & 1
    return sum((a >> (at + i) & 1 if i < length and at + i < n else sign) << i for i in range(n))


def bit_insert(a, b, c, d, n):
    at, length = c & 255, d & 255
    for i in range(length):
        if at + i < n:
            b = b & ~(1 << (at + i)) | (a >> i & 1) << (at + i)
    return b


def find_nth(mask, base, offset):
    offset = signed(offset, "s32")
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else 0xFFFFFFFF
    count, at = abs(offset), base
    while 0 <= at < 32:
        if mask >> at & 1:
            count -= 1
            if count == 0:
                return at
        at += 1 if offset > 0 else -1
    return 0xFFFFFFFF


def permute(a, b, selectors):
    data = [(b << 32 | a) >> (8 * i) & 255 for i in range(8)]
    r = 0
    for i in range(4):
        s = selectors >> (4 * i) & 15
        byte = data[s & 7]
        r |= ((255 if byte & 128 else 0) if s & 8 else byte) << (8 * i)
    return r


MODES = {"f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"],
         "rc8": ["0000", "1111", "2222", "3333"],
         "ecl": ["3210", "3211", "3222", "3333"], "ecr": ["0000", "1110", "2210", "3210"],
         "rc16": ["1010", "3232", "1010", "3232"]}


def find_leading(a, t, amount):
    n = bits_of(t)
    a = ~a & ((1 << n) - 1) if t[0] == "s" and a >> (n - 1) else a
    if a == 0:
        return 0xFFFFFFFF
    return n - a.bit_length() if amount else a.bit_length() - 1


def lanes(x, n, t):
    return [signed(x >> (n * i) & ((1 << n) - 1), t[0] + str(n)) for i in range(32 // n)]


ORDERS = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
          "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
ORDERS.update({"lo": ORDERS["lt"], "ls": ORDERS["le"], "hi": ORDERS["gt"], "hs": ORDERS["ge"]})
COMBINE = {"and": lambda a, p: a & p, "or": lambda a, p: a | p, "xor": lambda a, p: a ^ p}
PAIRS = {"add": lambda a, b: a + b, "min": min, "max": max}


def by_lane(f, a, b, n, t):
    """f of each pair of lanes of n bits."""
    return [f(x, y) for x, y in zip(lanes(a, n, t), lanes(b, n, t))]


def joined(values, n):
    """Lanes of n bits as one number."""
    return sum((v & ((1 << n) - 1)) << (n * i) for i, v in enumerate(values))


def distance(a, b):
    return abs(a - b)


def s32(x):
    return signed(x, "s32")


def held(x, t):
    """A result of a conversion: one of 8 bits has a register of 16."""
    return x & 0xFFFF if bits_of(t) == 8 else x


def former(rng, forms):
    """The function that adds a form to `forms`; each draws its cases from rng when it is called."""
    def form(name, inputs, output, function, outputs=None, text=None):
        outputs = outputs or [output]
        line = text or [name + " " + ", ".join([f"%d{k}" for k in range(len(outputs))]
                                               + [f"%a{k}" for k in range(len(inputs))]) + ";"]
        cases = []
        for operands in tuples(inputs, rng):
            result = function(*operands)
            result = list(result) if isinstance(result, (list, tuple)) else [result]
            cases.append((operands, [r & 1 if o == "pred" else wrap(r, o) for r, o in zip(result, outputs)]))
        forms.append(Form(name, inputs, outputs, line, cases))
    return form


def arithmetic(form):
    for t in ALL:
        s = lambda x, t=t: signed(x, t)
        form(f"add.{t}", [t, t], t, lambda a, b, s=s: s(a) + s(b))
        form(f"sub.{t}", [t, t], t, lambda a, b, s=s: s(a) - s(b))
        form(f"mul.lo.{t}", [t, t], t, lambda a, b, s=s: s(a) * s(b))
        form(f"mul.hi.{t}", [t, t], t, lambda a, b, s=s, n=bits_of(t): s(a) * s(b) >> n)
        form(f"mad.lo.{t}", [t] * 3, t, lambda a, b, c, s=s: s(a) * s(b) + s(c))
        form(f"mad.hi.{t}", [t] * 3, t, lambda a, b, c, s=s, n=bits_of(t): (s(a) * s(b) >> n) + s(c))
        form(f"sad.{t}", [t] * 3, t, lambda a, b, c, s=s: s(c) + abs(s(a) - s(b)))
        form(f"div.{t}", [t, t], t, lambda a, b, s=s, t=t: divide(s(a), s(b), t))
        form(f"rem.{t}", [t, t], t, lambda a, b, s=s, t=t: remainder(s(a), s(b), t))
        form(f"min.{t}", [t, t], t, lambda a, b, s=s: min(s(a), s(b)))
        form(f"max.{t}", [t, t], t, lambda a, b, s=s: max(s(a), s(b)))
        form(f"shr.{t}", [t, "u32"], t, lambda a, b, s=s: s(a) >> min(b, 64))
        form(f"slct.{t}.s32", [t, t, "s32"], t, lambda a, b, c: a if signed(c, "s32") >= 0 else b)
        form(f"selp.{t}", [t, t, "pred"], t, lambda a, b, p: a if p else b)
        if t[0] == "s":
            form(f"abs.{t}", [t], t, lambda a, s=s: abs(s(a)))
            form(f"neg.{t}", [t], t, lambda a, s=s: -s(a))
        if t[1:] != "64":
            wide = t[0] + str(2 * bits_of(t))
            form(f"mul.wide.{t}", [t, t], wide, lambda a, b, s=s: s(a) * s(b))
            form(f"mad.wide.{t}", [t, t, wide], wide, lambda a, b, c, s=s, w=wide: s(a) * s(b) + signed(c, w))


def carries(form):
    """Chains of operations with a carry."""
    for t in ["u32", "s32", "u64", "s64"]:
        n = bits_of(t)
        m = (1 << n) - 1
        chain = lambda first, second: [f"{first}.cc.{t} %d0, %a0, %a1;", f"{second}.cc.{t} %d1, %a2, %a3;",
                                       f"{second}.{t} %d2, %a0, %a3;"]

        def sums(a, b, c, d, m=m, n=n):
            x = a + b
            y = c + d + (x >> n)
            return x & m, y & m, a + d + (y >> n)

        def differences(a, b, c, d, m=m, n=n):
            x = a - b
            y = c - d - (x < 0)
            return x & m, y & m, a - d - (y < 0)

        form(f"addc.{t}", [t] * 4, t, sums, [t] * 3, chain("add", "addc"))
        form(f"subc.{t}", [t] * 4, t, differences, [t] * 3, chain("sub", "subc"))
        for half in ["lo", "hi"]:
            def products(a, b, c, d, t=t, m=m, n=n, half=half):
                p = signed(a, t) * signed(b, t)
                p = (p if half == "lo" else p >> n) & m
                x = p + c
                y = p + d + (x >> n)
                return x & m, y & m, p + c + (y >> n)
            form(f"madc.{half}.{t}", [t] * 4, t, products, [t] * 3,
                 [f"mad.{half}.cc.{t} %d0, %a0, %a1, %a2;", f"madc.{half}.cc.{t} %d1, %a0, %a1, %a3;",
                  f"madc.{half}.{t} %d2, %a0, %a1, %a2;"])


def short_operands(form):
    """Saturation, and operands of 24, 16 and 8 bits."""
    form("add.sat.s32", ["s32"] * 2, "s32", lambda a, b: clamp(s32(a) + s32(b), "s32"))
    form("sub.sat.s32", ["s32"] * 2, "s32", lambda a, b: clamp(s32(a) - s32(b), "s32"))
    form("mad.hi.sat.s32", ["s32"] * 3, "s32", lambda a, b, c: clamp((s32(a) * s32(b) >> 32) + s32(c), "s32"))
    form("min.relu.s32", ["s32"] * 2, "s32", lambda a, b: max(0, min(s32(a), s32(b))))
    form("max.relu.s32", ["s32"] * 2, "s32", lambda a, b: max(0, max(s32(a), s32(b))))
    for t in ["u32", "s32"]:
        w = lambda x, t=t: low24(x, t)
        form(f"mul24.lo.{t}", [t] * 2, t, lambda a, b, w=w: w(a) * w(b))
        form(f"mul24.hi.{t}", [t] * 2, t, lambda a, b, w=w: w(a) * w(b) >> 16)
        form(f"mad24.lo.{t}", [t] * 3, t, lambda a, b, c, w=w: w(a) * w(b) + c)
        form(f"mad24.hi.{t}", [t] * 3, t, lambda a, b, c, w=w: (w(a) * w(b) >> 16) + c)
        for mode in ["clamp", "wrap"]:
            def extend(a, n, t=t, mode=mode):
                n = n & 31 if mode == "wrap" else n
                if n >= 32:
                    return a
                a &= (1 << n) - 1
                return a - (1 << n) if n and t == "s32" and a >> (n - 1) else a
            form(f"szext.{mode}.{t}", [t, "u32"], t, extend)
        for u in ["u32", "s32"]:
            dot = lambda a, b, c, t=t, u=u: c + sum(x * y for x, y in zip(lanes(a, 8, t), lanes(b, 8, u)))
            form(f"dp4a.{t}.{u}", [t, u, "u32"], "u32", dot)
            form(f"dp2a.lo.{t}.{u}", [t, u, "u32"], "u32", lambda a, b, c, t=t,
                 u=u: c + sum(x * y for x, y in zip(lanes(a, 16, t), lanes(b, 8, u)[:2])))
            form(f"dp2a.hi.{t}.{u}", [t, u, "u32"], "u32", lambda a, b, c, t=t,
                 u=u: c + sum(x * y for x, y in zip(lanes(a, 16, t), lanes(b, 8, u)[2:])))
    form("mad24.hi.sat.s32", ["s32"] * 3, "s32",
         lambda a, b, c: clamp((low24(a, "s32") * low24(b, "s32") >> 16) + s32(c), "s32"))


def bits(form):
    """Masks, shifts of two registers, fields, permutations."""
    for mode in ["clamp", "wrap"]:
        def mask(a, b, mode=mode):
            a, b = (a & 31, b & 31) if mode == "wrap" else (min(a, 32), min(b, 32))
            return sum(1 << i for i in range(32) if a <= i < a + b)
        form(f"bmsk.{mode}.b32", ["u32"] * 2, "u32", mask)
        for side in ["l", "r"]:
            def funnel(a, b, c, mode=mode, side=side):
                n = c & 31 if mode == "wrap" else min(c, 32)
                return ((b << 32 | a) << n >> 32) if side == "l" else (b << 32 | a) >> n
            form(f"shf.{side}.{mode}.b32", ["u32"] * 3, "u32", funnel)
    for n in [32, 64]:
        b = f"b{n}"
        form(f"popc.{b}", [b], "u32", lambda a: bin(a).count("1"))
        form(f"clz.{b}", [b], "u32", lambda a, n=n: n - a.bit_length())
        form(f"brev.{b}", [b], b, lambda a, n=n: int(format(a, f"0{n}b")[::-1], 2))
        form(f"bfi.{b}", [b, b, "u32", "u32"], b, lambda x, y, c, d, n=n: bit_insert(x, y, c, d, n))
        for t in [f"u{n}", f"s{n}"]:
            form(f"bfind.{t}", [t], "u32", lambda a, t=t: find_leading(a, t, False))
            form(f"bfind.shiftamt.{t}", [t], "u32", lambda a, t=t: find_leading(a, t, True))
            form(f"bfe.{t}", [t, "u32", "u32"], t, lambda a, x, y, t=t: bit_field(a, x, y, t))
    form("fns.b32", ["u32", "u32", "u32"], "u32", lambda m, base, o: find_nth(m, base & 31, o),
         text=["and.b32 %a1, %a1, 31;", "fns.b32 %d0, %a0, %a1, %a2;"])
    form("prmt.b32", ["u32"] * 3, "u32", lambda a, b, c: permute(a, b, c))
    for mode, table in MODES.items():
        form(f"prmt.b32.{mode}", ["u32"] * 3, "u32",
             lambda a, b, c, table=table: permute(a, b, int(table[c & 3], 16)))
    for table in [0x00, 0x80, 0x96, 0xE8, 0x1B, 0xFE, 0xCA]:
        def logic(a, b, c, table=table):
            return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i
                       for i in range(32))
        form(f"lop3.b32 {table}", ["u32"] * 3, "u32", logic, text=[f"lop3.b32 %d0, %a0, %a1, %a2, {table};"])


def plain_bits(form):
    """Operations that take any bits, predicates, and moves that pack."""
    for t in ["b16", "b32", "b64"]:
        n = bits_of(t)
        form(f"and.{t}", [t, t], t, lambda a, b: a & b)
        form(f"or.{t}", [t, t], t, lambda a, b: a | b)
        form(f"xor.{t}", [t, t], t, lambda a, b: a ^ b)
        form(f"not.{t}", [t], t, lambda a: ~a)
        form(f"cnot.{t}", [t], t, lambda a: a == 0)
        form(f"shl.{t}", [t, "u32"], t, lambda a, b: a << min(b, 64))
        form(f"shr.{t}", [t, "u32"], t, lambda a, b: a >> min(b, 64))
        form(f"selp.{t}", [t, t, "pred"], t, lambda a, b, p: a if p else b)
        form(f"slct.{t}.s32", [t, t, "s32"], t, lambda a, b, c: a if s32(c) >= 0 else b)
        form(f"mov.{t}", [t], t, lambda a: a)
    for op, f in {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}.items():
        form(f"{op}.pred", ["pred"] * 2, "pred", f)
    form("not.pred", ["pred"], "pred", lambda a: not a)
    form("mov.pred", ["pred"], "pred", lambda a: a)
    form("mov.b64 pack", ["b32", "b32"], "b64", lambda a, b: b << 32 | a, text=["mov.b64 %d0, {%a0, %a1};"])
    form("mov.b64 pack4", ["b16"] * 4, "b64", lambda a, b, c, d: d << 48 | c << 32 | b << 16 | a,
         text=["mov.b64 %d0, {%a0, %a1, %a2, %a3};"])
    form("mov.b64 unpack", ["b64"], None, lambda a: (a, a >> 32), ["b32", "b32"],
         ["mov.b64 {%d0, %d1}, %a0;"])
    form("mov.b32 unpack", ["b32"], None, lambda a: (a, a >> 16), ["b16", "b16"],
         ["mov.b32 {%d0, %d1}, %a0;"])


def comparisons(form):
    for t in ["b16", "b32", "b64"] + ALL:
        names = ["eq", "ne"] if t[0] == "b" else list(ORDERS) if t[0] == "u" else list(ORDERS)[:6]
        for c in names:
            f = lambda a, b, c=c, t=t: bool(ORDERS[c](signed(a, t), signed(b, t)))
            form(f"setp.{c}.{t}", [t, t], None, lambda a, b, f=f: (f(a, b), not f(a, b)), ["pred", "pred"],
                 [f"setp.{c}.{t} %d0|%d1, %a0, %a1;"])
            form(f"set.{c}.u32.{t}", [t, t], "u32", lambda a, b, f=f: -f(a, b))
        for o, g in COMBINE.items():
            f = lambda a, b, t=t: bool(ORDERS["ne"](signed(a, t), signed(b, t)))
            form(f"setp.ne.{o}.{t}", [t, t, "pred"], None, lambda a, b, p, f=f,
                 g=g: (g(f(a, b), p), g(not f(a, b), p)), ["pred", "pred"],
                 [f"setp.ne.{o}.{t} %d0|%d1, %a0, %a1, %a2;"])
            form(f"set.ne.{o}.s32.{t}", [t, t, "pred"], "s32", lambda a, b, p, f=f, g=g: -g(f(a, b), p))
        form(f"set.eq.f32.{t}", [t, t], "u32", lambda a, b: 0x3F800000 if a == b else 0,
             text=[f".reg .f32 %z;", f"set.eq.f32.{t} %z, %a0, %a1;", "mov.b32 %d0, %z;"])


def conversions(form):
    every = ["u8", "s8"] + ALL
    for to in every:
        for source in every:
            form(f"cvt.{to}.{source}", [source], to if bits_of(to) > 8 else "u16",
                 lambda a, to=to, source=source: held(signed(signed(a, source), to), to))
            high, low = 1 << 70, -(1 << 70)
            if clamp(high, source) > clamp(high, to) or clamp(low, source) < clamp(low, to):
                form(f"cvt.sat.{to}.{source}", [source], to if bits_of(to) > 8 else "u16",
                     lambda a, to=to, source=source: held(clamp(signed(a, source), to), to))


def lanes_of_16_and_8(form):
    for t in ["u16", "s16"]:
        for op, f in PAIRS.items():
            form(f"{op}.{t}x2", ["b32", "b32"], "b32",
                 lambda a, b, f=f, t=t: joined(by_lane(f, a, b, 16, t), 16))
    for op in ["min", "max"]:
        form(f"{op}.relu.s16x2", ["b32", "b32"], "b32",
             lambda a, b, f=PAIRS[op]: joined([max(0, v) for v in by_lane(f, a, b, 16, "s16")], 16))
    for n, op in [(8, "vabsdiff4"), (16, "vabsdiff2")]:
        for t in ["u32", "s32"]:
            form(f"{op}.{t}.{t}.{t}.add", ["u32"] * 3, "u32",
                 lambda a, b, c, n=n, t=t: c + sum(by_lane(distance, a, b, n, t)))
        form(f"{op}.u32.u32.u32", ["u32"] * 3, "u32",
             lambda a, b, c, n=n: joined(by_lane(distance, a, b, n, "u32"), n))


def packing(form):
    for t in ["u16", "s16"]:
        form(f"cvt.pack.sat.{t}.s32", ["s32"] * 2, "u32",
             lambda a, b, t=t: wrap(clamp(s32(a), t), t) << 16 | wrap(clamp(s32(b), t), t))
    for t, n in [("u8", 8), ("s8", 8), ("u4", 4), ("s4", 4), ("u2", 2), ("s2", 2)]:
        def pack(a, b, c, t=t, n=n):
            low, high = (0, (1 << n) - 1) if t[0] == "u" else (-(1 << (n - 1)), (1 << (n - 1)) - 1)
            x, y = (max(low, min(high, s32(v))) & ((1 << n) - 1) for v in (a, b))
            return c << (2 * n) | x << n | y
        form(f"cvt.pack.sat.{t}.s32.b32", ["s32", "s32", "u32"], "u32", pack)


def integer_forms(rng):
    forms = []
    form = former(rng, forms)
    for group in (arithmetic, carries, short_operands, bits, plain_bits, comparisons, conversions,
                  lanes_of_16_and_8, packing):
        group(form)
    return forms
