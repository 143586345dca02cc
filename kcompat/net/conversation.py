"""One peer's connection without any network: bytes in, frames on, answers out in request order.

A conversation knows no socket. A transport derives from it: it calls `room` for the place of the next bytes,
puts them there and calls `received`; answers go to its `transmit`. Its `Hub` has the event loop.

Frames are received into a scratch buffer that all conversations of a loop share. One has its own buffers only
while a frame is half received, an answer waits or the peer reads slowly; an idle one costs about 1 KiB.

Frames are handed on while `_gate` is zero. Its bits are the reasons to wait (see `gate`). After a bit is
cleared `_go_on` runs at the end of the iteration (`loop_iteration`) and hands on the held frames. Only
`_go_on` and the transport's events hand frames on, and no handler calls either, so handlers never nest.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kcompat.logger_names import SELECTOR
from kcompat.net.answer_queue import AnswerQueue
from kcompat.net.answers import CLOSE, Waiting
from kcompat.net.frame_buffer import FrameBuffer, cause_of_length, unpack_length
from kcompat.net.gate import BUSY, CLOSED, CLOSING, CROWDED, ITERATION_S, MUTED, STARVED, WAITING, YIELDING
from kcompat.net.out_queue import MAX_PIECES
from kcompat.net.placing import misfit
from kcompat.net.sizes import GRAIN, JOIN_LIMIT, PREFIX
from kcompat.security.principals import ANONYMOUS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kcompat.net.answers import Answer, FrameHandler, Piece
    from kcompat.net.hub import Hub
    from kcompat.net.out_queue import OutQueue
    from kcompat.notices.cause import Cause
    from kcompat.security.authorizer import AllowedTopics

logger = logging.getLogger(SELECTOR)


class Conversation(ABC):
    """Protocol state of one connection; handlers see the part that `answers.Connection` describes."""

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
        "allowed_topics",
        "context",
        "last_active",
        "lead",
        "listener_name",
        "local_address",
        "max_frame",
        "peer_host",
        "peer_port",
        "principal",
        "report",
    )

    def __init__(
        self,
        hub: Hub,
        handler: FrameHandler,
        listener_name: str,
        peer: tuple[str, int],
        local_address: tuple[str, int],
    ) -> None:
        self._hub = hub
        self._handler = handler
        self.max_frame = hub.limits.max_frame if handler.max_frame is None else handler.max_frame
        self.listener_name = listener_name
        self.peer_host, self.peer_port = peer
        self.local_address = local_address
        self.principal = ANONYMOUS
        self.report = hub.report
        self.context: object = None
        self.allowed_topics: AllowedTopics | None = None
        self.last_active = hub.now
        """Loop time in seconds of the sweep before the last bytes from the peer arrived."""
        self._deadline = hub.loop.time() + hub.limits.header_deadline_s  # of the begun frame; 0: none
        self.lead = 0
        """Bytes of a buffer to leave free before the next frame; see `place_next`."""
        self._gate = 0
        self._paused = False  # nothing is received until `resume_reading`
        self._scheduled = False  # `_go_on` will be called
        self._held: FrameBuffer | None = None
        self._out: OutQueue | None = None
        self._answers: AnswerQueue | None = None
        self._reason = "closed by the broker"
        self._mute_timer: asyncio.TimerHandle | None = None
        hub.add(self)

    # For the transport

    @abstractmethod
    def transmit(self, pieces: list[Piece]) -> None:
        """Send answers. Bytes that the peer does not take yet are kept in `_out`, with SENDING set."""

    def transmit_soon(self, pieces: list[Piece]) -> None:
        """Send answers, maybe later with those of other conversations, but before this one's next event."""
        self.transmit(pieces)

    @abstractmethod
    def resume_reading(self) -> None:
        """Ask for `room` again when bytes come: the last call returned None, and the next one would not."""

    @abstractmethod
    def hang_up(self) -> None:
        """Close the transport at once, and drop unsent bytes. Called once."""

    def serve_with(self, handler: FrameHandler) -> None:
        self._handler = handler
        self.max_frame = self._hub.limits.max_frame if handler.max_frame is None else handler.max_frame
        if self._held is not None:
            self._held.max_frame = self.max_frame
        self._gate |= YIELDING  # `_hand_on`, which may be running, knows the last handler only
        self._schedule()

    def complain(self, cause: Cause, **details: object) -> None:
        self._hub.complain(self.peer_host, cause, listener=self.listener_name, **details)

    def place_next(self, data: memoryview, position: int) -> None:
        self.lead = (self.lead + misfit(data, position)) % GRAIN

    def mute(self, ms: float) -> None:
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
        self.clear(MUTED)

    def when_closed(self, callback: Callable[[], object]) -> None:
        self._hub.when_closed(self, callback)

    def close(self, reason: str = "closed by the broker") -> None:
        """Close at once; waiting answers are dropped. The counters of closed connections are by `reason`."""
        if self._gate & CLOSED:
            return
        self._gate |= CLOSED
        self._out = None
        if self._mute_timer is not None:
            self._mute_timer.cancel()
        self.hang_up()
        answers, self._answers = self._answers, None
        self._drop_held()
        self._hub.remove(self, reason)
        if answers is not None:
            answers.drop()

    def finish(self) -> None:
        """Take no more frames, end waiting fetches, and close once the answers so far have been sent."""
        self.close_behind("stopped")
        self._interrupt()
        self._schedule()

    def close_behind(self, reason: str) -> None:
        if not self._gate & (CLOSING | CLOSED):
            self._gate |= CLOSING
            self._reason = reason

    def _close_if_all_is_sent(self) -> None:
        if self._gate & CLOSING and self._out is None and self._answers is None:
            self.close(self._reason)

    # Frames in

    def room(self) -> memoryview | None:
        """Return the buffer for the next bytes, which has room for at least one.

        Returns None while no bytes may be received; `resume_reading` is called when they may again.
        """
        if self._gate and not self._reads_ahead():
            self._paused = True
            return None
        held, hub = self._held, self._hub
        if held is None:
            return hub.scratch_view[self.lead : self.lead + hub.read_size]
        if not held.room() and not hub.enlarge(held, self):
            self._gate |= STARVED
            self._paused = True
            return None
        return held.room()

    def received(self, count: int) -> None:
        """Hand on the whole frames among the received bytes, and keep the rest.

        `count` bytes, at least one, are now at the beginning of the last `room`, in the same event.
        """
        hub, held = self._hub, self._held
        self.last_active = hub.now
        try:
            if held is not None:
                self._received_more(held, count)
                return
            start, end = self.lead, self.lead + count
            taken = start if self._gate else self._hand_on(hub.scratch, hub.scratch_view, start, end)
            if taken == end:
                self._deadline = 0.0
            elif not self._gate & CLOSED:
                self._held = hub.hold(hub.scratch_view[taken:end], self)
                self._frame_begun(self._held)
        except Exception as error:
            self.failed(error)

    def _reads_ahead(self) -> bool:
        """Return whether to read while the gate waits: the next frame may end the wait for the last one."""
        return self._gate == WAITING and (self._held is None or self._held.may_read_ahead)

    def _hand_on(self, data: bytearray, view: memoryview, start: int, end: int) -> int:
        """Hand on the whole frames of `data[start:end]`, send the answers, and return where it stopped."""
        on_frame = self._handler.on_frame
        max_frame = self.max_frame
        pieces: list[Piece] = []
        iteration_ends = 0.0
        try:
            while end - start >= PREFIX and not self._gate:
                length: int = unpack_length(data, start)[0]
                if not 0 < length <= max_frame:
                    # Another protocol, or damage. Answers of earlier frames still go out.
                    self.complain(cause_of_length(length), length=length, limit=max_frame)
                    self.close_behind("bad frame length")
                    break
                stop = start + PREFIX + length
                if stop > end:
                    break
                answer = on_frame(self, view[start + PREFIX : stop])
                start = stop
                if type(answer) is list and self._answers is None:
                    pieces += answer
                    if len(answer) != 1 or len(answer[0]) > JOIN_LIMIT or len(pieces) >= MAX_PIECES:
                        self.transmit(pieces)
                        pieces = []
                else:
                    self._queue(answer, pieces)
                if start != end and not self._gate:
                    now = self._hub.loop.time()
                    if not iteration_ends:
                        iteration_ends = now + ITERATION_S
                    elif now > iteration_ends:
                        self._gate = YIELDING
                        self._hub.loop.call_soon(self._go_on)  # other connections are served first
        except Exception as error:
            self.request_failed(error)
        self._send_all(pieces)
        return start

    def request_failed(self, error: Exception) -> None:
        """Log that the handler raised `error` instead of answering; close after the answers so far."""
        logger.error("%s: connection closed: a request failed", self.peer_host, exc_info=error)
        self.close_behind("failed request")

    def failed(self, error: Exception) -> None:
        """Log a fault of the broker and close: a poller would get it at each poll and serve no other."""
        logger.error("%s: connection closed by a fault of the broker", self.peer_host, exc_info=error)
        self.close("failed connection")

    def answered(self, answer: Answer) -> None:
        """Send the answer to a frame that came alone, or queue it behind earlier answers."""
        pieces: list[Piece] = []
        self._queue(answer, pieces)
        self._send_all(pieces)

    def _send_all(self, pieces: list[Piece]) -> None:
        """Send the answers to the frames of one read event."""
        if pieces:
            # If later answers are outstanding, none of them may overtake these.
            waits = self._gate or self._answers is not None
            (self.transmit if waits else self.transmit_soon)(pieces)
        self._close_if_all_is_sent()

    def _frame_begun(self, held: FrameBuffer) -> None:
        """Set the deadline of a new first frame in `held`; end a waiting fetch if the frame requires it."""
        allowed = self._hub.limits.time_to_receive(held.needed if held.size >= PREFIX else 0)
        self._deadline = self._hub.loop.time() + allowed
        if self._gate == WAITING and held.has_frame and self._handler.ends_wait(held.first_frame()):
            self._interrupt()

    def _received_more(self, held: FrameBuffer, count: int) -> None:
        had_prefix = held.size >= PREFIX
        held.end += count
        if held.has_frame:
            self._serve_held(held)
        elif not had_prefix and held.size >= PREFIX:
            self._frame_begun(held)

    def _serve_held(self, held: FrameBuffer) -> None:
        """Hand on the whole frames of `held` if the gate permits; release the buffer once it is empty."""
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
            self._hub.release(held, self)

    # Answers out

    def _queue(self, answer: Answer, pieces: list[Piece]) -> None:
        """Add an answer to the `pieces` that are sent now, or to the queue if it must wait."""
        answers = self._answers
        while isinstance(answer, Waiting):
            if not answer.promise.done:
                if answers is None:
                    answers = self._answers = AnswerQueue(self._schedule)
                if answer.holds:
                    self._hub.keep(answer, self)
                answers.wait_for(answer)
                self._follow(answers)
                return
            answer = answer.promise.value
        if answer is CLOSE:
            self.close_behind("closed by the handler")
        elif answer is not None and answers is None:
            pieces += answer
        elif answer is not None and answers is not None:
            answers.push(answer)
            self._follow(answers)

    def _follow(self, answers: AnswerQueue) -> None:
        """Update the bits of the gate that depend on waiting answers."""
        self._gate = self._gate & ~(WAITING | BUSY | CROWDED) | answers.gate(self._hub.limits)

    def _interrupt(self) -> None:
        if self._answers is None:
            return
        try:
            self._answers.interrupt()
        except Exception as error:
            self.failed(error)

    def clear(self, bit: int) -> None:
        """Clear a bit of the gate: the hub clears STARVED, the transport SENDING."""
        self._gate &= ~bit
        self._schedule()

    def _schedule(self) -> None:
        """Call `_go_on` once at the end of the iteration, so that answers settled in it leave together."""
        if not self._scheduled:
            self._scheduled = True
            self._hub.iteration.answer_soon(self._go_on)

    def _go_on(self) -> None:
        """Send settled answers, hand on held frames, and resume reading, as far as the gate permits."""
        self._scheduled = False
        self._gate &= ~YIELDING
        if self._answers is not None:
            self._send_settled(self._answers)
        if not self._gate and self._held is not None:
            self._serve_held(self._held)
        self._close_if_all_is_sent()
        if self._paused and (not self._gate or self._reads_ahead()):
            self._paused = False
            self.resume_reading()

    def _send_settled(self, answers: AnswerQueue) -> None:
        pieces: list[Piece] = []
        if answers.pop_settled(pieces):
            self.close_behind("closed by the handler")
            answers.drop()
            self._answers = None
        elif not answers:
            self._answers = None
        self._follow(answers)
        if pieces:
            self.transmit(pieces)

    def overdue(self, now: float) -> str | None:
        """Return the reason to end this conversation at `now` (loop time in seconds), or None."""
        out = self._out
        return self._hub.limits.overdue(
            now,
            unsent_since=None if out is None else out.progress_at,
            deadline=0.0 if self._gate else self._deadline,
            idle_since=self.last_active if self._answers is None else now,
        )
