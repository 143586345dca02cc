"""One client connection: frames in, answers out, in request order.

A connection reads into the scratch buffer that all connections of its loop share and hands whole frames from
there to the handler; all answers of a read event leave together. It owns buffers only while a frame is half
received, an answer waits or the peer reads slowly, so an idle one costs about 1 KiB.

Frames are handed on while `_gate` is zero. Its bits are the reasons to wait (see `gate`); whoever clears one
calls `_schedule`, and `_pump` goes on with what is held. Nothing but the poller and `_pump` hands frames on,
and both are called by the loop alone, so a handler is never entered from inside itself.

TLS is not served yet: it needs a sibling of this class on an asyncio transport, with the same queues and
buffers.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING, Final

from kcompat.net.answer_queue import AnswerQueue
from kcompat.net.answers import CLOSE, Waiting
from kcompat.net.frame_buffer import PREFIX, STEP, FrameBuffer, unpack_length, whole_size
from kcompat.net.gate import BUSY, CLOSED, CLOSING, CROWDED, MUTED, SENDING, STARVED, WAITING, YIELDING
from kcompat.net.hang_up import hang_up
from kcompat.net.limits import KIB, MIB
from kcompat.net.out_queue import JOIN_LIMIT, MAX_PIECES, OutQueue, TruncatedRangeError
from kcompat.net.placing import GRAIN, misfit

if TYPE_CHECKING:
    import asyncio
    from socket import socket

    from kcompat.net.answers import Answer, FrameHandler, Piece
    from kcompat.net.hub import Hub

logger = logging.getLogger(__name__)

TURN_BUDGET: Final = MIB
"""Bytes one connection may send per turn of the loop before others have theirs."""
TURN_S: Final = 0.001
"""Seconds after which a connection with more whole frames waits for its next turn of the loop: whoever sends
thousands of requests at once keeps nobody waiting for all of them."""
READ_AHEAD: Final = 64 * KIB
"""Bytes read behind a whole frame that must wait."""


class Connection:
    """A connected, non-blocking socket of one peer. `context` is free for the handler's own use."""

    __slots__ = (
        "__weakref__",
        "_answers",
        "_deadline",
        "_gate",
        "_handler",
        "_held",
        "_hub",
        "_mute_timer",
        "_out",
        "_paused",
        "_reason",
        "_scheduled",
        "_socket",
        "context",
        "last_active",
        "lead",
        "listener_name",
        "local_address",
        "peer_host",
        "peer_port",
    )

    def __init__(
        self,
        hub: Hub,
        sock: socket,
        handler: FrameHandler,
        listener_name: str,
        peer: tuple[str, int],
        local_address: tuple[str, int],
    ) -> None:
        self._hub = hub
        self._socket = sock
        self._handler = handler
        self.listener_name = listener_name
        self.peer_host, self.peer_port = peer
        self.local_address = local_address
        """Host and port under which the peer reached us."""
        self.context: object = None
        self.last_active = hub.now
        """When the peer last sent something, in the loop's seconds, to the period of the sweep."""
        self._deadline = hub.loop.time() + hub.limits.header_deadline_s  # of the begun frame; 0 is none
        self.lead = 0
        """Bytes of a buffer to leave free before the next frame; see `place_next`."""
        self._gate = 0
        self._paused = False
        self._scheduled = False
        self._held: FrameBuffer | None = None
        self._out: OutQueue | None = None
        self._answers: AnswerQueue | None = None
        self._reason = "closed by the broker"
        self._mute_timer: asyncio.TimerHandle | None = None
        hub.add(self)
        hub.poller.add_reader(sock.fileno(), self)

    def place_next(self, data: memoryview, position: int) -> None:
        """Receive the next frame so that what it holds where the last one held `data` is quickly written to
        `position` of a file (see `placing`).
        """
        self.lead = (self.lead + misfit(data, position)) % GRAIN

    def mute(self, ms: float) -> None:
        """Hand on no more frames for `ms` milliseconds; answers still go out (KIP-219)."""
        if self._gate & CLOSED:
            return
        when = self._hub.loop.time() + ms / 1000
        if self._mute_timer is not None:
            if self._mute_timer.when() >= when:
                return
            self._mute_timer.cancel()
        self._gate |= MUTED
        self._mute_timer = self._hub.loop.call_at(when, self._unmute)

    def _unmute(self) -> None:
        self._mute_timer = None
        self._open_gate(MUTED)

    def close(self, reason: str = "closed by the broker") -> None:
        """Close at once; answers that wait are dropped. `reason` is what the counters call it."""
        if self._gate & CLOSED:
            return
        self._gate |= CLOSED
        poller, fileno = self._hub.poller, self._socket.fileno()
        poller.remove_reader(fileno)
        poller.remove_writer(fileno)
        self._out = None
        if self._mute_timer is not None:
            self._mute_timer.cancel()
            self._mute_timer = None
        hang_up(self._socket)
        answers, self._answers = self._answers, None
        self._drop_held()
        self._hub.remove(self, reason)
        if answers is not None:
            answers.drop()

    def finish(self) -> None:
        """Take no more frames, end waiting fetches, and close when the answers so far are out."""
        self._close_behind("stopped")
        self._interrupt()
        self._schedule()

    def _close_behind(self, reason: str) -> None:
        if not self._gate & (CLOSING | CLOSED):
            self._gate |= CLOSING
            self._reason = reason

    def _close_if_drained(self) -> None:
        if self._out is None and self._answers is None:
            self.close(self._reason)

    # Reading

    def on_readable(self) -> None:
        """Receive what there is, hand on what is whole: called by the poller."""
        hub = self._hub
        if self._gate and not self._reads_ahead():
            self._paused = True
            hub.poller.remove_reader(self._socket.fileno())
            return
        held = self._held
        try:
            if held is None:
                received = self._socket.recv_into(hub.scratch_view[self.lead :], hub.read_size)
            else:
                room = self._room(held)
                if room is None:
                    return
                received = self._socket.recv_into(room)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            received = 0
        if not received:
            self.close("disconnected")
            return
        self.last_active = hub.now
        if held is not None:
            self._received(held, received)
        else:
            self._take(received)

    def _take(self, received: int) -> None:
        """Hand on what is whole of the bytes just received into the scratch buffer, and keep the rest."""
        hub, start = self._hub, self.lead
        end = start + received
        taken = start if self._gate else self._hand_on(hub.scratch, hub.scratch_view, start, end)
        if taken == end:
            self._deadline = 0.0
        elif not self._gate & CLOSED:
            self._hold(hub.scratch_view[taken:end])

    def _reads_ahead(self) -> bool:
        """Whether to read though no frame may be handed on: to see what comes behind a waiting one."""
        if self._gate != WAITING:
            return False
        held = self._held
        return held is None or held.size < READ_AHEAD or not held.has_frame

    def _hand_on(self, data: bytearray, view: memoryview, start: int, end: int) -> int:
        """Hand on the whole frames of `data[start:end]` and send the answers; returns where it stopped."""
        on_frame = self._handler.on_frame
        max_frame = self._hub.limits.max_frame
        pieces: list[Piece] = []
        turn_ends = monotonic() + TURN_S
        try:
            while end - start >= PREFIX and not self._gate:
                length: int = unpack_length(data, start)[0]
                if not 0 < length <= max_frame:
                    self._refuse(length)
                    break
                stop = start + PREFIX + length
                if stop > end:
                    break
                answer = on_frame(self, view[start + PREFIX : stop])
                start = stop
                if type(answer) is list and self._answers is None:
                    pieces += answer
                    if len(answer) != 1 or len(answer[0]) > JOIN_LIMIT or len(pieces) >= MAX_PIECES:
                        self._transmit(pieces)
                        pieces = []
                else:
                    self._queue(answer, pieces)
                if start != end and monotonic() > turn_ends:
                    self._end_turn()
        except Exception as error:
            self._request_failed(error)
        self._leave(pieces)
        return start

    def _request_failed(self, error: Exception) -> None:
        logger.error("%s: connection closed: a request failed", self.peer_host, exc_info=error)
        self._close_behind("failed request")

    def _leave_one(self, answer: Answer) -> None:
        """Send the answer to a frame that came alone, or put it where it waits."""
        pieces: list[Piece] = []
        self._queue(answer, pieces)
        self._leave(pieces)

    def _leave(self, pieces: list[Piece]) -> None:
        """Send the answers of a read event, most of them with those of other connections."""
        if pieces:
            # What comes next for this connection, if it may come before the turn ends, must not overtake.
            if self._gate or self._answers is not None:
                self._transmit(pieces)
            else:
                self._hub.poller.send_soon(self._transmit, pieces)
        if self._gate & CLOSING:
            self._close_if_drained()

    def _end_turn(self) -> None:
        if not self._gate:
            self._gate = YIELDING
            self._schedule()

    def _refuse(self, length: int) -> None:
        """No frame has such a length: another protocol, or damage. Answers of earlier frames still go out."""
        self._hub.complain(self.peer_host, f"connection closed: a frame of {length} bytes was announced")
        self._close_behind("bad frame length")

    def _hold(self, received: memoryview) -> None:
        """Keep bytes that cannot be handed on now."""
        hub, size = self._hub, len(received)
        wanted = GRAIN + max(size, whole_size(received, 0, size, hub.limits.max_frame))
        data = hub.buffers.take(wanted) if wanted > STEP else None
        if data is None:
            data = bytearray(min(wanted, max(STEP, 2 * size)))
        hub.hold(self, len(data))
        self._held = FrameBuffer(data, received, hub.limits.max_frame, self.lead)
        self._frame_begun(self._held)

    def _frame_begun(self, held: FrameBuffer) -> None:
        """Set the deadline of a new first frame in `held`, and see whether it ends a waiting fetch."""
        limits = self._hub.limits
        allowed = limits.header_deadline_s
        if held.size >= PREFIX:
            allowed = limits.body_deadline_s + held.needed / limits.body_rate
        self._deadline = self._hub.loop.time() + allowed
        if self._gate == WAITING and held.has_frame and self._handler.ends_wait(held.first_frame()):
            self._interrupt()

    def _room(self, held: FrameBuffer) -> memoryview | None:
        """Where to receive more of `held`; None when there is no memory for it now."""
        room = held.room(READ_AHEAD)
        if len(room):
            return room
        hub = self._hub
        wanted = held.wanted(READ_AHEAD)
        data = hub.buffers.take(wanted) if wanted > STEP else None
        size = len(data) if data is not None else min(wanted, max(STEP, 2 * len(held.data)))
        if not hub.memory.reserve(self, self.peer_host, size - len(held.data)):
            if data is not None:
                hub.buffers.give(data)
            self._gate |= STARVED
            hub.starve(self)
            return None
        hub.buffers.give(held.move_to(data if data is not None else bytearray(size)))
        return held.room(READ_AHEAD)

    def memory_freed(self) -> None:
        """Called by the hub: receive memory may be there again."""
        self._open_gate(STARVED)

    def _received(self, held: FrameBuffer, count: int) -> None:
        had_prefix = held.size >= PREFIX
        held.end += count
        if held.has_frame:
            self._serve_held(held)
        elif not had_prefix and held.size >= PREFIX:
            self._frame_begun(held)

    def _serve_held(self, held: FrameBuffer) -> None:
        """Hand on what is whole of `held`, if anything may be; give the buffer back once nothing is left."""
        if not self._gate:
            held.start = self._hand_on(held.data, held.view, held.start, held.end)
        if held.start == held.end:
            self._drop_held()
            self._deadline = 0.0
        elif not self._gate & CLOSED:
            self._frame_begun(held)

    def _drop_held(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._hub.release(self, held.data)

    # Answers

    def _queue(self, answer: Answer, pieces: list[Piece]) -> None:
        """Put an answer where it belongs: to the `pieces` that leave now, or among those that wait."""
        answers = self._answers
        while isinstance(answer, Waiting):
            if not answer.promise.done:
                if answers is None:
                    answers = self._answers = AnswerQueue(self._schedule)
                if answer.holds:
                    self._hub.keep(self, answer)
                answers.wait_for(answer)
                self._regate(answers)
                return
            answer = answer.promise.value
        if answer is CLOSE:
            self._close_behind("closed by the handler")
        elif answer is not None and answers is None:
            pieces += answer
        elif answer is not None and answers is not None:
            answers.push(answer)
            self._regate(answers)

    def _regate(self, answers: AnswerQueue) -> None:
        """Bring the bits that depend on waiting answers up to date."""
        limits = self._hub.limits
        gate = self._gate & ~(WAITING | BUSY | CROWDED)
        if answers.is_blocked:
            gate |= BUSY if answers.is_busy else WAITING
        if len(answers) >= limits.max_pipelined or answers.memory >= limits.max_unsent:
            gate |= CROWDED
        self._gate = gate

    def _interrupt(self) -> None:
        if self._answers is None:
            return
        try:
            self._answers.interrupt()
        except Exception:
            logger.exception("%s: connection closed: a wait could not be ended", self.peer_host)
            self.close("failed request")

    def _open_gate(self, bit: int) -> None:
        self._gate &= ~bit
        self._schedule()

    def _schedule(self) -> None:
        """Have the loop call `_pump`: answers that arrive together leave together, and no stack grows."""
        if not self._scheduled:
            self._scheduled = True
            self._hub.loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Send what may be sent, hand on what may be handed on, and read again if that is of use."""
        self._scheduled = False
        self._gate &= ~YIELDING
        if self._answers is not None:
            self._send_settled(self._answers)
        if not self._gate and self._held is not None:
            self._serve_held(self._held)
        if self._gate & CLOSING:
            self._close_if_drained()
        elif self._paused and (not self._gate or self._reads_ahead()):
            self._paused = False
            self._hub.poller.add_reader(self._socket.fileno(), self)

    def _send_settled(self, answers: AnswerQueue) -> None:
        pieces: list[Piece] = []
        if answers.pop_settled(pieces):
            self._close_behind("closed by the handler")
            answers.drop()
            self._answers = None
        elif not answers:
            self._answers = None
        self._regate(answers)
        if pieces:
            self._transmit(pieces)

    # Sending

    def _transmit(self, pieces: list[Piece]) -> None:
        """Send now what the socket takes and queue the rest."""
        if self._gate & CLOSED:
            return
        try:
            if self._out is None:
                size = sum(map(len, pieces))
                if size <= JOIN_LIMIT and (unsent := self._send_small(pieces)) is not None:
                    if not unsent:
                        return
                    pieces = [unsent]
                self._out = OutQueue(self._hub.now)
            self._out.push(pieces)
        except (OSError, TruncatedRangeError) as error:
            self._send_failed(error)
            return
        self.on_writable()

    def _send_small(self, pieces: list[Piece]) -> memoryview | None:
        """Send pieces as one: the part that was not taken; None, and nothing sent, if one is a file range."""
        try:
            data = b"".join(pieces)  # type: ignore[arg-type]
        except TypeError:
            return None
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        return memoryview(data)[sent:]

    def on_writable(self) -> None:
        """Go on with the queue: called with new answers, and by the poller when the socket takes more."""
        out, poller = self._out, self._hub.poller
        assert out is not None
        try:
            drained = out.send(self._socket, TURN_BUDGET, self._hub.now)
        except (OSError, TruncatedRangeError) as error:
            self._send_failed(error)
            return
        if drained:
            self._out = None
            if self._gate & SENDING:
                poller.remove_writer(self._socket.fileno())
                self._open_gate(SENDING)
        elif out.memory > self._hub.limits.max_unsent:
            self._hub.complain(self.peer_host, "connection closed: too many unsent answers")
            self.close("too many unsent answers")
        elif not self._gate & SENDING:
            self._gate |= SENDING
            poller.add_writer(self._socket.fileno(), self)

    def _send_failed(self, error: Exception) -> None:
        """The peer is gone, or a file under an answer cannot be read."""
        if isinstance(error, (ConnectionError, TimeoutError)):
            self.close("disconnected")
            return
        logger.error("%s: connection closed: an answer could not be sent: %s", self.peer_host, error)
        self.close("failed answer")

    # Deadlines

    def overdue(self, now: float) -> str | None:
        """Why this connection is to be closed at `now`, the loop's time in seconds; None if it may stay."""
        limits = self._hub.limits
        if self._out is not None:
            return "slow reader" if now - self._out.progress_at > limits.write_deadline_s else None
        if self._deadline and not self._gate and now > self._deadline:
            return "unfinished frame"
        # When it was last active is known as of the sweep before that.
        if self._answers is None and now - self.last_active > limits.max_idle_s + limits.sweep_period_s:
            return "idle"
        return None
