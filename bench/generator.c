/* A closed-loop load generator: sends pre-encoded request frames and counts the responses.
 *
 *     generator PORT CONNECTIONS DEPTH COUNT FILE
 *
 * FILE holds whole frames, length prefix included; connection i repeats frame i modulo their number. Each
 * connection keeps DEPTH requests in flight until COUNT responses have come over all connections. Responses
 * are discarded but for their length prefix. Prints: seconds, responses, bytes received, latencies in
 * microseconds (median, 99th percentile), and the smallest and the largest response.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_FRAMES 1024
#define RECEIVE_SIZE (1 << 20)
#define BURST_SIZE (64 * 1024)

struct frame {
    const char *bytes; /* `copies` times the same frame, to send several with one call */
    size_t size;
    size_t copies;
};

struct connection {
    int socket;
    const struct frame *frame;
    size_t unsent;      /* bytes of requests that are due but not with the kernel yet */
    size_t position;    /* in the frame that is half sent */
    unsigned in_flight;
    double *sent_at;    /* ring of DEPTH times */
    unsigned next_sent, next_answered;
    unsigned char prefix[4];
    unsigned prefix_size;
    size_t body_left;
    int waits_for_room;
};

static unsigned depth;
static size_t wanted, started, answered, received;
static double *latencies;
static uint32_t smallest = UINT32_MAX, largest;
static char *scratch;
static int poller;

static void die(const char *what)
{
    fprintf(stderr, "generator: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static size_t load_frames(const char *path, struct frame *frames)
{
    FILE *file = fopen(path, "rb");
    size_t count = 0;
    unsigned char prefix[4];
    if (!file)
        die(path);
    while (count < MAX_FRAMES && fread(prefix, 1, 4, file) == 4) {
        size_t size = 4 + ((size_t)prefix[0] << 24 | prefix[1] << 16 | prefix[2] << 8 | prefix[3]);
        size_t copies = size < BURST_SIZE ? BURST_SIZE / size : 1;
        char *bytes = malloc(size * copies);
        if (!bytes)
            die("malloc");
        memcpy(bytes, prefix, 4);
        if (fread(bytes + 4, 1, size - 4, file) != size - 4)
            die("a frame is cut short");
        for (size_t copy = 1; copy < copies; copy++)
            memcpy(bytes + copy * size, bytes, size);
        frames[count++] = (struct frame){bytes, size, copies};
    }
    fclose(file);
    if (!count)
        die("no frames");
    return count;
}

static void wait_for_room(struct connection *one, int waits)
{
    struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = one};
    if (one->waits_for_room != waits && epoll_ctl(poller, EPOLL_CTL_MOD, one->socket, &event))
        die("epoll_ctl");
    one->waits_for_room = waits;
}

/* Start as many requests as may be in flight and send what the socket takes. */
static void push(struct connection *one)
{
    const struct frame *frame = one->frame;
    double time = now();
    while (one->in_flight < depth && started < wanted) {
        one->sent_at[one->next_sent++ % depth] = time;
        one->in_flight++;
        started++;
        one->unsent += frame->size;
    }
    while (one->unsent) {
        size_t size = frame->size * frame->copies - one->position;
        if (size > one->unsent)
            size = one->unsent;
        ssize_t sent = send(one->socket, frame->bytes + one->position, size, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno != EAGAIN)
                die("send");
            break;
        }
        one->unsent -= sent;
        one->position = (one->position + sent) % frame->size;
    }
    wait_for_room(one, one->unsent > 0);
}

static void on_response_end(struct connection *one, double time)
{
    latencies[answered++] = time - one->sent_at[one->next_answered++ % depth];
    one->in_flight--;
}

static void pull(struct connection *one)
{
    ssize_t size = recv(one->socket, scratch, RECEIVE_SIZE, 0);
    if (size <= 0) {
        if (size < 0 && errno == EAGAIN)
            return;
        die("the broker closed a connection");
    }
    double time = now();
    received += size;
    for (size_t at = 0; at < (size_t)size;) {
        if (one->body_left) {
            size_t part = (size_t)size - at < one->body_left ? (size_t)size - at : one->body_left;
            one->body_left -= part;
            at += part;
            if (!one->body_left)
                on_response_end(one, time);
            continue;
        }
        one->prefix[one->prefix_size++] = scratch[at++];
        if (one->prefix_size == 4) {
            uint32_t length = (uint32_t)one->prefix[0] << 24 | one->prefix[1] << 16 | one->prefix[2] << 8 | one->prefix[3];
            one->prefix_size = 0;
            one->body_left = length;
            smallest = length < smallest ? length : smallest;
            largest = length > largest ? length : largest;
        }
    }
}

static void open_connection(struct connection *one, int port, const struct frame *frame)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int yes = 1;
    one->socket = socket(AF_INET, SOCK_STREAM, 0);
    /* Linux's default, on every machine: with another one, such as BBR, its pacing would be measured too. */
    setsockopt(one->socket, IPPROTO_TCP, TCP_CONGESTION, "cubic", sizeof "cubic" - 1);
    if (one->socket < 0 || connect(one->socket, (struct sockaddr *)&address, sizeof address))
        die("connect");
    setsockopt(one->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    fcntl(one->socket, F_SETFL, O_NONBLOCK);
    one->frame = frame;
    one->sent_at = calloc(depth, sizeof(double));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, one->socket, &event))
        die("epoll_ctl");
}

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int main(int count_of_arguments, char **arguments)
{
    static struct frame frames[MAX_FRAMES];
    if (count_of_arguments != 6) {
        fprintf(stderr, "usage: generator PORT CONNECTIONS DEPTH COUNT FILE\n");
        return 2;
    }
    int port = atoi(arguments[1]);
    size_t connections = atol(arguments[2]);
    depth = atoi(arguments[3]);
    wanted = atol(arguments[4]);
    size_t frame_count = load_frames(arguments[5], frames);
    struct connection *all = calloc(connections, sizeof *all);
    latencies = malloc(wanted * sizeof *latencies);
    scratch = malloc(RECEIVE_SIZE);
    poller = epoll_create1(0);
    if (!all || !latencies || !scratch || poller < 0 || !wanted || !depth)
        die("setting up");
    memset(latencies, 0, wanted * sizeof *latencies);
    for (size_t i = 0; i < connections; i++)
        open_connection(&all[i], port, &frames[i % frame_count]);
    double begin = now();
    for (size_t i = 0; i < connections; i++)
        push(&all[i]);
    while (answered < wanted) {
        struct epoll_event events[256];
        int ready = epoll_wait(poller, events, 256, 30000);
        if (ready <= 0)
            die("no response within 30 seconds");
        for (int i = 0; i < ready; i++) {
            struct connection *one = events[i].data.ptr;
            if (events[i].events & ~EPOLLOUT)
                pull(one);
            push(one);
        }
    }
    double seconds = now() - begin;
    qsort(latencies, wanted, sizeof *latencies, compare);
    printf("%.9f %zu %zu %.3f %.3f %u %u\n", seconds, answered, received, latencies[wanted / 2] * 1e6,
           latencies[wanted * 99 / 100] * 1e6, smallest, largest);
    return 0;
}
