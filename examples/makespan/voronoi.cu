/*
 * The Voronoi kernel of the makespan paper (Fig. 10): each thread colours one pixel with the number
 * of the nearest limit point. voronoi.ptx is what `nvcc -ptx -arch=sm_75 voronoi.cu` makes of it,
 * committed so that nothing here needs nvcc.
 */
extern "C" __global__ void voronoi(const float *px, const float *py, int n, int width, int *nearest)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    float x = column, y = row;
    float dx = x - px[0], dy = y - py[0];
    float least = dx * dx + dy * dy;
    int point = 0;

#pragma unroll 1
    for (int i = 1; i < n; i++) {
        dx = x - px[i];
        dy = y - py[i];
        float distance = dx * dx + dy * dy;
        if (distance < least) {
            least = distance;
            point = i;
        }
    }
    nearest[row * width + column] = point;
}
