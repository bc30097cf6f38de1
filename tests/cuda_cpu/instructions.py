#!/usr/bin/env python3
"""Writes FOLDER/instructions.ptx, an entry for each instruction form, and FOLDER/instructions.txt:
operands and expected results.

Each line of the text file is a form (`form ENTRY NAME`) or a case (`OPERANDS... = LOW HIGH [LOW
HIGH]`, in hexadecimal; a result within LOW..HIGH as a floating-point number is right when the form
is approximate, and equal bits otherwise; `nan`: any that is no number). """
import random
import sys

from integer_forms import integer_forms
from real_forms import real_forms

SIZE = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4,
        "s32": 4, "f32": 4, "tf32": 4,
        "f16x2": 4, "bf16x2": 4, "u16x2": 4, "s16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "e4m3x2": 2,
        "e5m2x2": 2, "pred": 1}
REGISTER = {1: ".b16", 2: ".b16", 4: ".b32", 8: ".b64"}


def register_type(t):
    return {"f32": ".f32", "f64": ".f64", "pred": ".pred"}.get(t, REGISTER[SIZE[t]])


def entry(number, form):
    """The entry: thread i loads operands of case i, 8 bytes each, and stores results, 8 bytes
    each."""
    lines = [f".visible .entry e{number}(.param .u64 in, .param .u64 out)", "{"]
    lines += [".reg .b64 %in, %out, %x;", ".reg .b32 %i, %w;", ".reg .pred %q;"]
    for k, t in enumerate(form.inputs):
        lines.append(f".reg {register_type(t)} %a{k};")
    for k, t in enumerate(form.outputs):
        lines.append(f".reg {register_type(t)} %d{k};")
    lines += ["ld.param.u64 %in, [in];", "ld.param.u64 %out, [out];", "mov.u32 %i, %tid.x;"]
    lines += [f"mul.wide.u32 %x, %i, {8 * max(1, len(form.inputs))};", "add.s64 %in, %in, %x;"]
    lines += [f"mul.wide.u32 %x, %i, {8 * len(form.outputs)};", "add.s64 %out, %out, %x;"]
    for k, t in enumerate(form.inputs):
        if t == "pred":
            lines += [f"ld.global.u32 %w, [%in+{8 * k}];", f"setp.ne.u32 %a{k}, %w, 0;"]
        else:
            load = {1: "b8"}.get(SIZE[t],
                                 {".f32": "f32", ".f64": "f64"}.get(register_type(t), "b%d" % (8 * SIZE[t])))
            lines.append(f"ld.global.{load} %a{k}, [%in+{8 * k}];")
    lines += form.text
    for k, t in enumerate(form.outputs):
        if t == "pred":
            lines += [f"selp.u32 %w, 1, 0, %d{k};", f"st.global.u32 [%out+{8 * k}], %w;"]
        else:
            store = {".f32": "f32", ".f64": "f64"}.get(register_type(t), "b%d" % (8 * max(2, SIZE[t])))
            lines.append(f"st.global.{store} [%out+{8 * k}], %d{k};")
    return "\n".join(lines + ["ret;", "}", ""])


def main():
    folder = sys.argv[1]
    rng = random.Random(7)
    forms = integer_forms(rng) + real_forms(rng)
    with open(folder + "/instructions.ptx", "w") as ptx, open(folder + "/instructions.txt", "w") as out:
        ptx.write(".version 8.6\n.target sm_90\n.address_size 64\n\n")
        for number, form in enumerate(forms):
            ptx.write(entry(number, form))
            out.write(f"form {number} {int(form.approximate)} {len(form.inputs)} {len(form.outputs)} "
                      f"{SIZE[form.outputs[0]]} {form.name}\n")
            for operands, results in form.cases:
                words = []
                for r in results:
                    low, high = r if isinstance(r, tuple) else (r, r)
                    words += ["nan" if low is None else "%x" % low, "nan" if high is None else "%x" % high]
                out.write(" ".join("%x" % o for o in operands) + " = " + " ".join(words) + "\n")


main()
