"""Batches of copies and kernels over a shared interconnect (include/baton/batch.h), with numpy
arrays, pyopencl objects, and CUDA arrays (CuPy, Numba, PyTorch: what has __cuda_array_interface__)."""
import ctypes
from typing import NamedTuple

from ._library import BatonError, check, library

METHODS = ("aligned", "paced", "bandwidth", "time-division")
_MESSAGE = 512


class _Gpu(ctypes.Structure):
    _fields_ = [("node", ctypes.c_char_p), ("context", ctypes.c_void_p), ("device", ctypes.c_void_p)]


class _CudaGpu(ctypes.Structure):
    _fields_ = [("node", ctypes.c_char_p), ("context", ctypes.c_void_p), ("device", ctypes.c_int)]


class _Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("topology", ctypes.c_char_p), ("gpus", ctypes.POINTER(_Gpu)),
                ("n_gpus", ctypes.c_size_t), ("method", ctypes.c_int), ("emulate", ctypes.c_char_p),
                ("emulate_ratio", ctypes.c_double), ("cuda_gpus", ctypes.POINTER(_CudaGpu)),
                ("n_cuda_gpus", ctypes.c_size_t)]


class _Place(ctypes.Structure):
    _fields_ = [("node", ctypes.c_char_p), ("buffer", ctypes.c_void_p), ("offset", ctypes.c_size_t),
                ("host", ctypes.c_void_p)]


class _Arg(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("value", ctypes.c_void_p)]


class _Kernel(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_void_p), ("dimensions", ctypes.c_uint32),
                ("shared_bytes", ctypes.c_uint32), ("global_size", ctypes.c_size_t * 3),
                ("local_size", ctypes.c_size_t * 3), ("args", ctypes.POINTER(_Arg)),
                ("n_args", ctypes.c_size_t),
                ("predicted_ms", ctypes.c_double)]


class _Stream(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("source", _Place), ("to", _Place), ("bytes", ctypes.c_size_t),
                ("kernel", _Kernel)]


class _Times(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("copy_begin", "copy_end", "kernel_begin", "kernel_end")]


class Times(NamedTuple):
    """Milliseconds from the start of the batch."""

    copy_begin: float
    copy_end: float
    kernel_begin: float
    kernel_end: float


class Call:
    """A kernel launch: a pyopencl.Kernel, its range, its arguments (buffers and numpy scalars) and
    its predicted time.

    Without args the arguments that the kernel has now are used.

    On a CUDA device the kernel is a CUfunction or CUkernel as a number, global_size counts blocks,
    local_size the threads of a block, and args are all parameters: CUDA arrays and numpy scalars.
    """

    def __init__(self, predicted_ms, kernel=None, global_size=(1,), local_size=None, args=(), shared_bytes=0):
        self.predicted_ms, self.kernel, self.args = predicted_ms, kernel, tuple(args)
        self.shared_bytes = shared_bytes
        self.global_size, self.local_size = tuple(global_size), tuple(local_size or ())


class Stream:
    """A copy, a kernel, or a copy to a GPU followed by a kernel there.

    source and to are (node, memory): memory is a numpy array or another writable buffer in host
    memory, a pyopencl.Buffer or a CUDA array on a GPU; None for predictions. nbytes is that of the
    array where it is not given.
    """

    def __init__(self, source=None, to=None, nbytes=None, kernel=None, name=None, offset=0):
        self.source, self.to, self.kernel, self.name, self.offset = source, to, kernel, name, offset
        self.nbytes = nbytes if nbytes is not None else _nbytes(source, to)


def _nbytes(*places):
    for place in places:
        memory = place[1] if place and len(place) > 1 else None
        if memory is not None and hasattr(memory, "nbytes"):
            return memory.nbytes
    return 0


def _host_pointer(memory):
    """The address of a numpy array (contiguous) or of anything with a writable buffer."""
    if hasattr(memory, "ctypes") and hasattr(memory, "flags"):
        if not memory.flags["C_CONTIGUOUS"]:
            raise ValueError("expected a contiguous array; numpy.ascontiguousarray() makes one")
        return memory.ctypes.data
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _cuda_address(memory):
    """The address of a CUDA array; None: it is none."""
    interface = getattr(memory, "__cuda_array_interface__", None)
    if interface is None:
        return None
    if interface.get("strides") is not None:
        raise ValueError("expected a contiguous array")
    return interface["data"][0]


def _place(place, offset, keep):
    if place is None:
        return _Place()
    node, memory = place if len(place) > 1 else (place[0], None)
    keep.append(memory)
    if memory is None:
        return _Place(node.encode(), None, 0, None)
    if hasattr(memory, "int_ptr"):  # pyopencl.Buffer
        return _Place(node.encode(), memory.int_ptr, offset, None)
    address = _cuda_address(memory)
    if address is not None:
        return _Place(node.encode(), address, offset, None)
    return _Place(node.encode(), None, 0, _host_pointer(memory))


def _argument(argument, keep):
    """As clSetKernelArg takes it: a cl_mem, the bytes of a numpy scalar, or (pyopencl.LocalMemory)
    a size."""
    address = _cuda_address(argument)
    if address is not None:
        value = ctypes.c_uint64(address)
    elif hasattr(argument, "int_ptr"):
        value = ctypes.c_void_p(argument.int_ptr)
    elif hasattr(argument, "tobytes"):
        raw = argument.tobytes()
        value = ctypes.create_string_buffer(raw, len(raw))
    elif hasattr(argument, "size") and not isinstance(argument, (bytes, str)):
        return _Arg(argument.size, None)
    else:
        raise TypeError("expected a buffer or a numpy scalar (numpy.int32(5)), found %r" % (argument,))
    keep.append(value)
    return _Arg(ctypes.sizeof(value), ctypes.cast(ctypes.byref(value), ctypes.c_void_p))


def _three(sizes):
    return (ctypes.c_size_t * 3)(*(tuple(sizes) + (0,) * (3 - len(sizes))))


def _call(call, keep):
    if call is None:
        return _Kernel()
    args = (_Arg * max(len(call.args), 1))(*[_argument(a, keep) for a in call.args])
    keep += [args, call.kernel]
    return _Kernel(getattr(call.kernel, "int_ptr", call.kernel), len(call.global_size), call.shared_bytes,
                   _three(call.global_size),
                   _three(call.local_size), args, len(call.args), call.predicted_ms)


def _streams(streams):
    """The C array, and what must stay alive as long as it is used."""
    keep = []
    array = (_Stream * len(streams))()
    for i, stream in enumerate(streams):
        array[i] = _Stream(stream.name.encode() if stream.name else None,
                           _place(stream.source, stream.offset, keep),
                           _place(stream.to, stream.offset, keep), stream.nbytes, _call(stream.kernel, keep))
    return array, keep


def _method(name):
    if name not in METHODS:
        raise ValueError("expected a method of %s, found %r" % (", ".join(METHODS), name))
    return METHODS.index(name)


def _times(raw):
    return Times(*(getattr(raw, name) / 1e6 for name, _ in _Times._fields_))


def predict(topology, streams, method="aligned", worst_case=False, margin=0.0):
    """How long a batch would take, without any device: (milliseconds, lower bound of all methods,
    [Times per stream])."""
    array, keep = _streams(streams)
    times = (_Times * len(streams))()
    length, bound = ctypes.c_int64(), ctypes.c_int64()
    message = ctypes.create_string_buffer(_MESSAGE)
    answer = library().baton_predict(str(topology).encode(), _method(method), int(worst_case),
                                     ctypes.c_double(margin), array,
                                     ctypes.c_size_t(len(streams)), times, ctypes.byref(length),
                                     ctypes.byref(bound), message,
                                     ctypes.c_size_t(_MESSAGE))
    del keep
    check(answer, message.value.decode())
    return length.value / 1e6, bound.value / 1e6, [_times(t) for t in times]


class Batch:
    """A batch that was started. Its memory stays referenced until it has ended."""

    def __init__(self, handle, n, keep):
        self._handle, self._n, self._keep = handle, n, keep

    def done(self):
        return bool(library().baton_batch_query(self._handle))

    def wait(self):
        """Waits for the end; raises BatonError with the name of the stream that failed."""
        answer = library().baton_batch_wait(self._handle)
        text = library().baton_batch_message
        text.restype = ctypes.c_char_p
        message = (text(self._handle) or b"").decode()
        self._keep = None
        if answer < 0:
            raise BatonError(-answer, message)
        return self

    def length(self):
        """(predicted, measured) in milliseconds, of a batch that has ended."""
        predicted, measured = ctypes.c_int64(), ctypes.c_int64()
        library().baton_batch_length(self._handle, ctypes.byref(predicted), ctypes.byref(measured))
        return predicted.value / 1e6, measured.value / 1e6

    def streams(self):
        """[(predicted Times, measured Times)], of a batch that has ended."""
        answer = []
        for i in range(self._n):
            predicted, measured = _Times(), _Times()
            check(library().baton_batch_stream(self._handle, ctypes.c_size_t(i), ctypes.byref(predicted),
                                               ctypes.byref(measured)))
            answer.append((_times(predicted), _times(measured)))
        return answer

    def close(self):
        if self._handle:
            library().baton_batch_free(self._handle)
            self._handle = None

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()


class Batcher:
    """Runs batches on the devices of a topology, one at a time, in the order in which they were
    started.

    gpus: {node: (pyopencl.Context, pyopencl.Device)}. cuda_gpus: {node: number of the CUDA device},
    with its primary context, as the CUDA runtime has it. emulate: a topology to whose links copies are
    slowed down, on machines whose devices share the host's memory.
    """

    def __init__(self, topology, gpus=None, method="aligned", emulate=None, emulate_ratio=1.0,
                 cuda_gpus=None):
        gpus, cuda_gpus = gpus or {}, cuda_gpus or {}
        array = (_Gpu * max(len(gpus), 1))()
        for i, (node, (context, device)) in enumerate(gpus.items()):
            array[i] = _Gpu(node.encode(), context.int_ptr, device.int_ptr)
        cuda = (_CudaGpu * max(len(cuda_gpus), 1))()
        for i, (node, device) in enumerate(cuda_gpus.items()):
            cuda[i] = _CudaGpu(node.encode(), None, device)
        config = _Config(ctypes.sizeof(_Config), str(topology).encode(), array, len(gpus), _method(method),
                         str(emulate).encode() if emulate else None, emulate_ratio, cuda, len(cuda_gpus))
        message = ctypes.create_string_buffer(_MESSAGE)
        self._handle, self._gpus = ctypes.c_void_p(), gpus
        check(library().baton_batcher_new(ctypes.byref(config), ctypes.byref(self._handle), message,
                                          ctypes.c_size_t(_MESSAGE)),
              message.value.decode())

    def start(self, streams):
        array, keep = _streams(streams)
        batch = ctypes.c_void_p()
        check(library().baton_batch_start(self._handle, array, ctypes.c_size_t(len(streams)),
                                          ctypes.byref(batch)))
        return Batch(batch, len(streams), keep)

    def run(self, streams):
        """Starts the batch and waits for it."""
        return self.start(streams).wait()

    def close(self):
        if self._handle:
            library().baton_batcher_free(self._handle)
            self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()
