/*
 * Texture and surface objects: filtering, address modes, layers, three dimensions, pitched and
 * linear memory, surfaces.
 */
#include "expect.h"

#include <vector>

__global__ void read_2d(cudaTextureObject_t t, const float2 *at, float *out, int n)
{
    int i = threadIdx.x;

    if (i < n)
        out[i] = tex2D<float>(t, at[i].x, at[i].y);
}
__global__ void read_layer(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] =
        tex2DLayered<float>(t, 0.5f + threadIdx.x % 4, 0.5f + threadIdx.x / 4 % 4, threadIdx.x / 16);
}
__global__ void read_3d(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] =
        tex3D<float>(t, 0.5f + threadIdx.x % 4, 0.5f + threadIdx.x / 4 % 4, 0.5f + threadIdx.x / 16);
}
__global__ void read_linear(cudaTextureObject_t t, int4 *out)
{
    out[threadIdx.x] = tex1Dfetch<int4>(t, threadIdx.x);
}
__global__ void read_bytes(cudaTextureObject_t t, float4 *out)
{
    out[threadIdx.x] = tex2D<float4>(t, threadIdx.x + 0.5f, 0.5f);
}
__global__ void invert(cudaSurfaceObject_t s, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x < width && y < height) {
        uchar4 p;

        surf2Dread(&p, s, x * 4, y);
        p.x = 255 - p.x;
        p.w = (unsigned char)(x + y);
        surf2Dwrite(p, s, x * 4, y);
    }
}

static cudaTextureObject_t make(cudaResourceDesc &resource, cudaTextureAddressMode mode,
                                cudaTextureFilterMode filter, bool normalized,
                                cudaTextureReadMode read = cudaReadModeElementType)
{
    cudaTextureDesc about = {};
    cudaTextureObject_t object;

    for (auto &m : about.addressMode)
        m = mode;
    about.filterMode = filter;
    about.readMode = read;
    about.normalizedCoords = normalized;
    CHECK(cudaCreateTextureObject(&object, &resource, &about, nullptr));
    return object;
}

/* W * H texels with value 10 * y + x; read at points that the caller gives. */
static void test_2d()
{
    enum { W = 8, H = 4 };
    float texels[H][W], result[8], *out;
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaResourceDesc resource = {};
    float2 *at;
    float2 points[] = {{0.5f, 0.5f}, {1.0f, 0.5f}, {2.5f, 1.0f}, {-5, 0.5f}, {20, 3.5f}, {7.5f, 3.5f}};
    const float clamped[] = {0, 0.5f, 7, 0, 37, 37};

    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            texels[y][x] = (float)(10 * y + x);
    CHECK(cudaMallocArray(&array, &format, W, H));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, texels, W * 4, W * 4, H, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaMalloc(&at, sizeof points));
    CHECK(cudaMalloc(&out, sizeof result));
    CHECK(cudaMemcpy(at, points, sizeof points, cudaMemcpyHostToDevice));
    cudaTextureObject_t linear = make(resource, cudaAddressModeClamp, cudaFilterModeLinear, false);
    read_2d<<<1, 32>>>(linear, at, out, 6);
    CHECK(cudaMemcpy(result, out, sizeof points / 2, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 6; i++)
        EXPECT_EQUAL(result[i], clamped[i]);
    cudaTextureObject_t border = make(resource, cudaAddressModeBorder, cudaFilterModePoint, false);
    read_2d<<<1, 32>>>(border, at, out, 6);
    CHECK(cudaMemcpy(result, out, sizeof points / 2, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(result[3], 0);
    EXPECT_EQUAL(result[4], 0);
    EXPECT_EQUAL(result[5], 37);
    /* Wrapped: 1.25 of the width is 2 texels on; mirrored it is 6.  */
    float2 far[] = {{1.25f + 1.0f / 16, 0.125f}, {-0.25f + 1.0f / 16, 0.125f}};
    CHECK(cudaMemcpy(at, far, sizeof far, cudaMemcpyHostToDevice));
    cudaTextureObject_t wrap = make(resource, cudaAddressModeWrap, cudaFilterModePoint, true);
    read_2d<<<1, 32>>>(wrap, at, out, 2);
    CHECK(cudaMemcpy(result, out, 8, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(result[0], 2);
    EXPECT_EQUAL(result[1], 6);
    cudaTextureObject_t mirror = make(resource, cudaAddressModeMirror, cudaFilterModePoint, true);
    read_2d<<<1, 32>>>(mirror, at, out, 2);
    CHECK(cudaMemcpy(result, out, 8, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(result[0], 5);
    EXPECT_EQUAL(result[1], 1);
    cudaResourceDesc again;
    CHECK(cudaGetTextureObjectResourceDesc(&again, linear));
    EXPECT(again.resType == cudaResourceTypeArray && again.res.array.array == array);
    for (cudaTextureObject_t t : {linear, border, wrap, mirror})
        CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeArray(array));
}

static void test_volumes()
{
    float volume[4][4][4], result[64], *out;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaResourceDesc resource = {};

    for (int i = 0; i < 64; i++)
        (&volume[0][0][0])[i] = (float)(i * 3);
    CHECK(cudaMalloc(&out, sizeof result));
    for (int layered = 0; layered < 2; layered++) {
        cudaArray_t array;
        cudaMemcpy3DParms copy = {};
        cudaTextureObject_t t;

        CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(4, 4, 4), layered ? cudaArrayLayered : 0));
        copy.srcPtr = make_cudaPitchedPtr(volume, 16, 4, 4);
        copy.dstArray = array;
        copy.extent = make_cudaExtent(4, 4, 4);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        t = make(resource, cudaAddressModeClamp, layered ? cudaFilterModePoint : cudaFilterModeLinear, false);
        if (layered)
            read_layer<<<1, 64>>>(t, out);
        else
            read_3d<<<1, 64>>>(t, out);
        CHECK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 64; i++)
            EXPECT_EQUAL(result[i], i * 3);
        CHECK(cudaDestroyTextureObject(t));
        CHECK(cudaFreeArray(array));
    }
}

static void test_memory()
{
    int4 *linear, *ints, host[32];
    uchar4 *pitched, row[16];
    float4 *floats, result[16];
    size_t pitch;
    cudaResourceDesc resource = {};
    cudaTextureObject_t t;

    for (int i = 0; i < 32; i++)
        host[i] = make_int4(i, -i, i * i, 7);
    CHECK(cudaMalloc(&linear, sizeof host));
    CHECK(cudaMalloc(&ints, sizeof host));
    CHECK(cudaMemcpy(linear, host, sizeof host, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = linear;
    resource.res.linear.desc = cudaCreateChannelDesc<int4>();
    resource.res.linear.sizeInBytes = sizeof host;
    t = make(resource, cudaAddressModeClamp, cudaFilterModePoint, false);
    read_linear<<<1, 32>>>(t, ints);
    CHECK(cudaMemset(linear, 0, sizeof host));
    memset(host, 0, sizeof host);
    CHECK(cudaMemcpy(host, ints, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(host[i].x == i && host[i].y == -i && host[i].z == i * i && host[i].w == 7);
    CHECK(cudaDestroyTextureObject(t));
    for (int i = 0; i < 16; i++)
        row[i] = make_uchar4((unsigned char)(i * 17), 0, 255, 51);
    CHECK(cudaMallocPitch(&pitched, &pitch, sizeof row, 4));
    CHECK(cudaMemcpy2D(pitched, pitch, row, sizeof row, sizeof row, 1, cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = pitched;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    resource.res.pitch2D.width = 16;
    resource.res.pitch2D.height = 1;
    resource.res.pitch2D.pitchInBytes = pitch;
    t = make(resource, cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat);
    CHECK(cudaMalloc(&floats, sizeof result));
    read_bytes<<<1, 16>>>(t, floats);
    CHECK(cudaMemcpy(result, floats, sizeof result, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++) {
        EXPECT_NEAR(result[i].x, i * 17 / 255.0, 1e-6);
        EXPECT_EQUAL(result[i].z, 1);
        EXPECT_NEAR(result[i].w, 0.2, 1e-6);
    }
    CHECK(cudaDestroyTextureObject(t));
}

static void test_surface()
{
    enum { W = 20, H = 10 };
    std::vector<uchar4> image(W * H);
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaResourceDesc resource = {};
    cudaSurfaceObject_t surface;

    for (int i = 0; i < W * H; i++)
        image[i] = make_uchar4((unsigned char)i, 1, 2, 3);
    CHECK(cudaMallocArray(&array, &format, W, H, cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    invert<<<dim3(3, 2), dim3(8, 8)>>>(surface, W, H);
    CHECK(cudaMemcpy2DFromArray(image.data(), W * 4, array, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; i++)
        EXPECT(image[i].x == (unsigned char)(255 - (unsigned char)i) && image[i].y == 1 && image[i].z == 2 &&
               image[i].w == (i % W + i / W) % 256);
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
}

int main()
{
    test_2d();
    test_volumes();
    test_memory();
    test_surface();
    return expect_failures != 0;
}
