/* What no broker can do without, done plainly, and nothing else: frames are received, written to a file and answered.
 *
 *     bare broker FOLLOWERS    with followers it has one client, and answers it when all of them have its frame
 *     bare follower PORT       of the broker at this port
 *
 * A broker prints its port, and "ready" when it has all its followers. Of a frame only its length and its first
 * two bytes are looked at: a fetch is a follower's, anything else a client's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PREFIX 4
#define FETCH 1
#define BUFFER_SIZE (4 << 20)
#define LARGEST_FILE ((off_t)1 << 30) /* then it begins anew */
#define MOST_FOLLOWERS 8
#define RESPONSE_SIZE 60

struct peer {
    int socket;
    int follows;
    size_t size;
    unsigned char *bytes; /* what has come of the next frames */
};

static FILE *file;
static off_t written;
static struct peer *followers[MOST_FOLLOWERS], *client;
static int known, wanted, arrived;

static void die(const char *what)
{
    fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void store(const void *bytes, size_t size)
{
    if (written > LARGEST_FILE)
        written = 0;
    if (pwrite(fileno(file), bytes, size, written) != (ssize_t)size)
        die("pwrite");
    written += size;
}

static void say(int socket, const void *bytes, size_t size)
{
    if (send(socket, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        die("send");
}

static void answer(struct peer *one)
{
    static const unsigned char response[RESPONSE_SIZE] = {0, 0, 0, RESPONSE_SIZE - PREFIX};
    say(one->socket, response, sizeof response);
}

static void fetch(int socket)
{
    static const unsigned char request[RESPONSE_SIZE] = {0, 0, 0, RESPONSE_SIZE - PREFIX, 0, FETCH};
    say(socket, request, sizeof request);
}

/* A frame of the broker's: from a client, or a follower that has all it was sent. */
static void serve(struct peer *one, const unsigned char *frame, size_t size)
{
    if ((frame[PREFIX] << 8 | frame[PREFIX + 1]) != FETCH) {
        store(frame, size);
        client = one;
        for (int i = 0; i < wanted; i++)
            say(followers[i]->socket, frame, size);
        if (!wanted)
            answer(one);
    } else if (!one->follows) {
        one->follows = 1;
        followers[known++] = one;
        if (known == wanted)
            puts("ready");
    } else if (++arrived == wanted) {
        arrived = 0;
        answer(client);
    }
}

/* Take what has come and act on each whole frame; 0 when the peer is gone. */
static int receive(struct peer *one, int is_broker)
{
    ssize_t count = recv(one->socket, one->bytes + one->size, BUFFER_SIZE - one->size, MSG_DONTWAIT);
    if (count <= 0)
        return count < 0 && errno == EAGAIN;
    one->size += count;
    size_t at = 0;
    while (one->size - at >= PREFIX) {
        const unsigned char *frame = one->bytes + at;
        size_t size = PREFIX + ((size_t)frame[0] << 24 | frame[1] << 16 | frame[2] << 8 | frame[3]);
        if (one->size - at < size)
            break;
        if (is_broker) {
            serve(one, frame, size);
        } else {
            store(frame, size);
            fetch(one->socket);
        }
        at += size;
    }
    memmove(one->bytes, one->bytes + at, one->size -= at);
    return 1;
}

static void watch(int poller, int socket)
{
    struct peer *one = calloc(1, sizeof *one);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = one};
    int yes = 1;
    if (!one || !(one->bytes = malloc(BUFFER_SIZE)) || epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event))
        die("watching a socket");
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    one->socket = socket;
}

static void forget(struct peer *one)
{
    close(one->socket);
    free(one->bytes);
    free(one);
}

static void listen_for_peers(int poller, int listener, struct sockaddr_in *address)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    socklen_t size = sizeof *address;
    if (bind(listener, (struct sockaddr *)address, size) || listen(listener, 128)
        || getsockname(listener, (struct sockaddr *)address, &size)
        || epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event))
        die("listening");
    printf("%d\n", ntohs(address->sin_port));
}

int main(int count, char **arguments)
{
    int poller = epoll_create1(0), sock = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setvbuf(stdout, NULL, _IOLBF, 0); /* the bench waits for each line */
    if (count != 3) {
        fprintf(stderr, "usage: bare broker FOLLOWERS | bare follower PORT\n");
        return 2;
    }
    int number = atoi(arguments[2]), is_broker = !strcmp(arguments[1], "broker");
    if (!(file = tmpfile()) || poller < 0 || sock < 0)
        die("setting up");
    if (is_broker) {
        listen_for_peers(poller, sock, &address);
        wanted = number;
        if (!wanted)
            puts("ready");
    } else {
        address.sin_port = htons(number);
        if (connect(sock, (struct sockaddr *)&address, sizeof address))
            die("connecting");
        watch(poller, sock);
        fetch(sock);
    }
    for (;;) {
        struct epoll_event events[64];
        int ready = epoll_wait(poller, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            struct peer *one = events[i].data.ptr;
            if (!one)
                watch(poller, accept(sock, NULL, NULL));
            else if (!receive(one, is_broker)) {
                if (!is_broker)
                    return 0;
                forget(one);
            }
        }
    }
}
