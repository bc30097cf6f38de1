/*
 * The words of OpenCL C that the workloads' kernels use, in CUDA C. The kernels themselves are the
 * texts of the workloads; make-ptx turns what no macro can (signatures, address spaces, vector
 * literals).
 */
#define kernel     extern "C" __global__
#define barrier(f) __syncthreads()

typedef unsigned char uchar;
typedef unsigned int uint;
typedef cudaSurfaceObject_t image2d_t;

extern __shared__ char dynamic_local[];

#define PER_DIMENSION(name, from)                                                                            \
    static __device__ inline size_t name(int d)                                                              \
    {                                                                                                        \
        return d == 0 ? from.x : d == 1 ? from.y : from.z;                                                   \
    }
PER_DIMENSION(get_local_id, threadIdx)
PER_DIMENSION(get_local_size, blockDim)
PER_DIMENSION(get_group_id, blockIdx)
PER_DIMENSION(get_num_groups, gridDim)
static __device__ inline size_t get_global_id(int d)
{
    return get_group_id(d) * get_local_size(d) + get_local_id(d);
}
static __device__ inline size_t get_global_size(int d)
{
    return get_num_groups(d) * get_local_size(d);
}

template <class T, class L, class H> static __device__ inline T clamp(T v, L low, H high)
{
    return v < (T)low ? (T)low : v > (T)high ? (T)high : v;
}
static __device__ inline uint atomic_inc(volatile uint *p)
{
    return atomicAdd((uint *)p, 1u);
}
static __device__ inline uint atomic_add(volatile uint *p, uint v)
{
    return atomicAdd((uint *)p, v);
}
static __device__ inline float dot(float2 a, float2 b)
{
    return a.x * b.x + a.y * b.y;
}
static __device__ inline uchar convert_uchar_sat_rte(float v)
{
    return (uchar)rintf(fminf(fmaxf(v, 0.f), 255.f));
}

#define M_SQRT1_2_F 0.70710678118654752440f
#define FLT_MAX     3.402823466e+38f

/* --- vectors --- */
#define VECTOR4(T, S)                                                                                        \
    static __device__ inline T make_##T(S v)                                                                 \
    {                                                                                                        \
        return make_##T(v, v, v, v);                                                                         \
    }                                                                                                        \
    static __device__ inline T operator+(T a, T b)                                                           \
    {                                                                                                        \
        return make_##T(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);                                         \
    }                                                                                                        \
    static __device__ inline T operator-(T a, T b)                                                           \
    {                                                                                                        \
        return make_##T(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);                                         \
    }                                                                                                        \
    static __device__ inline T operator*(T a, S b)                                                           \
    {                                                                                                        \
        return make_##T(a.x * b, a.y * b, a.z * b, a.w * b);                                                 \
    }                                                                                                        \
    static __device__ inline T operator*(S b, T a)                                                           \
    {                                                                                                        \
        return a * b;                                                                                        \
    }                                                                                                        \
    static __device__ inline T operator*(T a, T b)                                                           \
    {                                                                                                        \
        return make_##T(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);                                         \
    }                                                                                                        \
    static __device__ inline T operator/(T a, S b)                                                           \
    {                                                                                                        \
        return make_##T(a.x / b, a.y / b, a.z / b, a.w / b);                                                 \
    }                                                                                                        \
    static __device__ inline T operator/(T a, T b)                                                           \
    {                                                                                                        \
        return make_##T(a.x / b.x, a.y / b.y, a.z / b.z, a.w / b.w);                                         \
    }                                                                                                        \
    static __device__ inline void operator+=(T &a, T b)                                                      \
    {                                                                                                        \
        a = a + b;                                                                                           \
    }
VECTOR4(float4, float)
VECTOR4(int4, int)
VECTOR4(uint4, uint)
#define VECTOR2(T, S)                                                                                        \
    static __device__ inline T operator+(T a, T b)                                                           \
    {                                                                                                        \
        return make_##T(a.x + b.x, a.y + b.y);                                                               \
    }                                                                                                        \
    static __device__ inline T operator-(T a, T b)                                                           \
    {                                                                                                        \
        return make_##T(a.x - b.x, a.y - b.y);                                                               \
    }                                                                                                        \
    static __device__ inline T operator*(T a, S b)                                                           \
    {                                                                                                        \
        return make_##T(a.x * b, a.y * b);                                                                   \
    }
VECTOR2(float2, float)
VECTOR2(int2, int)
static __device__ inline int4 operator>>(int4 a, int n)
{
    return make_int4(a.x >> n, a.y >> n, a.z >> n, a.w >> n);
}
static __device__ inline int4 min(int4 a, int4 b)
{
    return make_int4(min(a.x, b.x), min(a.y, b.y), min(a.z, b.z), min(a.w, b.w));
}
static __device__ inline int4 max(int4 a, int4 b)
{
    return make_int4(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z), max(a.w, b.w));
}
static __device__ inline uint4 min(uint4 a, uint4 b)
{
    return make_uint4(min(a.x, b.x), min(a.y, b.y), min(a.z, b.z), min(a.w, b.w));
}
static __device__ inline uchar4 min(uchar4 a, uchar4 b)
{
    return make_uchar4(min(a.x, b.x), min(a.y, b.y), min(a.z, b.z), min(a.w, b.w));
}
static __device__ inline uchar4 max(uchar4 a, uchar4 b)
{
    return make_uchar4(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z), max(a.w, b.w));
}
static __device__ inline float dot(float4 a, float4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
template <class V> static __device__ inline int4 convert_int4(V v)
{
    return make_int4(v.x, v.y, v.z, v.w);
}
template <class V> static __device__ inline uint4 convert_uint4(V v)
{
    return make_uint4(v.x, v.y, v.z, v.w);
}
template <class V> static __device__ inline uchar4 convert_uchar4(V v)
{
    return make_uchar4(v.x, v.y, v.z, v.w);
}
static __device__ inline uint4 abs(int4 v)
{
    return make_uint4(abs(v.x), abs(v.y), abs(v.z), abs(v.w));
}

/* --- images of RGBA bytes: surfaces --- */
static __device__ inline uint4 read_image_clamped(image2d_t image, int2 at)
{
    uchar4 v;
    surf2Dread(&v, image, at.x * 4, at.y, cudaBoundaryModeClamp);
    return make_uint4(v.x, v.y, v.z, v.w);
}
#define read_imageui(image, sampler, at) read_image_clamped(image, at)
static __device__ inline void write_imageui(image2d_t image, int2 at, uint4 v)
{
    surf2Dwrite(make_uchar4(v.x, v.y, v.z, v.w), image, at.x * 4, at.y);
}
