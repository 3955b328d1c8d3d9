"""The thread pool's own code, in LLVM IR: sharing out a range, joining in, sleeping and waking.

A *job* is one range of rounds of one function, in words of 64 bits (`JOB`)::

    entry, block, words of the block, low, high, grain, work,
    scratch, bytes of it a thread, the word of the block that its address goes to

The pool's *state* is words too, each group in a cache line of its own. A job is open while parts of
it may be taken. Whoever calls takes parts, and so do threads that join while it is open; the caller
returns when nothing is left and all who joined have left. Threads that find no job look for one for
a while and then sleep; a call costs about a microsecond while they look.
"""

from __future__ import annotations

from typing import Final

JOB: Final = (
    *("entry", "block", "words", "low", "high", "grain", "work"),
    *("scratch", "scratch_bytes", "scratch_word"),
)
"""The words of a job, in order."""

TICKET: Final = 0
"""Words of the state: goes up with each job; the threads sleep on it."""

ACTIVE: Final = 8
"""How many threads have joined the open job, and `OPEN` while they may."""

NEXT: Final = 16
"""Where the next part of the job begins."""

SLEEPERS: Final = 24
BUSY: Final = 32
"""1 while a caller has the pool; another one works alone."""

CURRENT: Final = 40
"""The job, and in the word after it how many rounds a part has."""

THREADS: Final = 48
"""How many threads share a job, the caller included; fewer than 2: nothing is shared."""

STOP: Final = 49
"""1 when the threads are to end."""

WORTH: Final = 50
"""The work from which on a job is shared."""

SPINS: Final = 51
"""How often a thread looks for a job before it sleeps."""

STATE_WORDS: Final = 64

OPEN: Final = 1 << 32

PARTS: Final = 4
"""Parts for each thread, so that one that is held up takes fewer."""

_YIELD_AFTER: Final = 4096
"""How often the caller looks whether others have ended before it offers its processor."""

_FUTEX: Final = {"x86_64": 202, "aarch64": 98}
"""The number of Linux's call by processor."""

_WAIT, _WAKE = 128, 129  # of one process


def architecture(triple: str) -> str:
    """Return the processor in a target triple by the name that Linux has for it."""
    first = triple.split("-")[0]
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(first, first)


def is_supported(triple: str) -> bool:
    """Whether threads can sleep on a word of memory on such a machine."""
    return "linux" in triple and architecture(triple) in _FUTEX


def pool_text(triple: str) -> str:
    """Return the module: ``@run(state, job)``, ``@join(state, slot)`` and ``@stop(state)``.

    ``@kernel`` returns the addresses of the three through its argument.
    """
    pause = {
        "x86_64": ("call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
        "aarch64": ("call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
    }[architecture(triple)]
    futex = _FUTEX[architecture(triple)]
    return (
        _TEXT.replace("PAUSE", pause[0])
        .replace("FUTEX", f"i64 {futex}")
        .replace("YIELD_AFTER", str(_YIELD_AFTER))
        + pause[1]
        + "\n"
    )


def _word(name: str, number: int) -> str:
    return f"  {name} = getelementptr i64, ptr %state, i64 {number}\n"


_TEXT: Final = f"""
declare i32 @sched_yield()
declare i64 @syscall(i64, ...)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define void @kernel(ptr %out) nounwind {{
  store ptr @run, ptr %out
  %second = getelementptr ptr, ptr %out, i64 1
  store ptr @join, ptr %second
  %third = getelementptr ptr, ptr %out, i64 2
  store ptr @stop, ptr %third
  ret void
}}

define internal i64 @field(ptr %job, i64 %number) nounwind alwaysinline {{
  %place = getelementptr i64, ptr %job, i64 %number
  %value = load i64, ptr %place
  ret i64 %value
}}

define internal void @work(ptr %state, ptr %job, i64 %slot) nounwind {{
entry:
{_word("%next", NEXT)}{_word("%size.place", CURRENT + 1)}  %size = load i64, ptr %size.place
  %entry.word = call i64 @field(ptr %job, i64 0)
  %code = inttoptr i64 %entry.word to ptr
  %block.word = call i64 @field(ptr %job, i64 1)
  %given = inttoptr i64 %block.word to ptr
  %words = call i64 @field(ptr %job, i64 2)
  %high = call i64 @field(ptr %job, i64 4)
  %bytes = call i64 @field(ptr %job, i64 8)
  %scratched = icmp ne i64 %bytes, 0
  br i1 %scratched, label %own, label %parts
own:
  %copy = alloca i64, i64 %words, align 64
  %length = shl i64 %words, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %given, i64 %length, i1 false)
  %base = call i64 @field(ptr %job, i64 7)
  %before = mul i64 %slot, %bytes
  %mine = add i64 %base, %before
  %scratch.word = call i64 @field(ptr %job, i64 9)
  %scratch.place = getelementptr i64, ptr %copy, i64 %scratch.word
  store i64 %mine, ptr %scratch.place
  br label %parts
parts:
  %block = phi ptr [ %given, %entry ], [ %copy, %own ], [ %block, %part ]
  %low = atomicrmw add ptr %next, i64 %size monotonic
  %left = icmp slt i64 %low, %high
  br i1 %left, label %part, label %leave
part:
  %far = add i64 %low, %size
  %over = icmp sgt i64 %far, %high
  %end = select i1 %over, i64 %high, i64 %far
  call void %code(ptr %block, i64 %low, i64 %end)
  br label %parts
leave:
  ret void
}}

define internal void @alone(ptr %job) nounwind {{
entry:
  %entry.word = call i64 @field(ptr %job, i64 0)
  %code = inttoptr i64 %entry.word to ptr
  %block.word = call i64 @field(ptr %job, i64 1)
  %block = inttoptr i64 %block.word to ptr
  %low = call i64 @field(ptr %job, i64 3)
  %high = call i64 @field(ptr %job, i64 4)
  %bytes = call i64 @field(ptr %job, i64 8)
  %scratched = icmp ne i64 %bytes, 0
  br i1 %scratched, label %own, label %run
own:
  %scratch = call i64 @field(ptr %job, i64 7)
  %scratch.word = call i64 @field(ptr %job, i64 9)
  %scratch.place = getelementptr i64, ptr %block, i64 %scratch.word
  store i64 %scratch, ptr %scratch.place
  br label %run
run:
  call void %code(ptr %block, i64 %low, i64 %high)
  ret void
}}

define void @run(ptr %state, ptr %job) nounwind {{
entry:
{_word("%threads.place", THREADS)}  %threads = load i64, ptr %threads.place
  %several = icmp sgt i64 %threads, 1
{_word("%worth.place", WORTH)}  %worth = load i64, ptr %worth.place
  %amount = call i64 @field(ptr %job, i64 6)
  %large = icmp sge i64 %amount, %worth
  %low = call i64 @field(ptr %job, i64 3)
  %high = call i64 @field(ptr %job, i64 4)
  %grain = call i64 @field(ptr %job, i64 5)
  %rounds = sub i64 %high, %low
  %divisible = icmp sgt i64 %rounds, %grain
  %some = and i1 %several, %large
  %shared = and i1 %some, %divisible
  br i1 %shared, label %ask, label %single
single:
  call void @alone(ptr %job)
  ret void
ask:
{_word("%busy", BUSY)}  %asked = cmpxchg ptr %busy, i64 0, i64 1 acquire monotonic
  %granted = extractvalue {{ i64, i1 }} %asked, 1
  br i1 %granted, label %open, label %single
open:
  %grown = add i64 %rounds, %grain
  %less = sub i64 %grown, 1
  %grains = sdiv i64 %less, %grain
  %wanted = mul i64 %threads, {PARTS}
  %rough = sdiv i64 %grains, %wanted
  %few = icmp slt i64 %rough, 1
  %many = select i1 %few, i64 1, i64 %rough
  %size = mul i64 %many, %grain
{_word("%size.place", CURRENT + 1)}  store i64 %size, ptr %size.place
{_word("%next", NEXT)}  store i64 %low, ptr %next
{_word("%job.place", CURRENT)}  store ptr %job, ptr %job.place
{_word("%active", ACTIVE)}  store atomic i64 {OPEN}, ptr %active release, align 8
  %ticket = atomicrmw add ptr %state, i32 1 seq_cst
{_word("%sleeping", SLEEPERS)}  %sleepers = load atomic i64, ptr %sleeping seq_cst, align 8
  %asleep = icmp sgt i64 %sleepers, 0
  br i1 %asleep, label %wake, label %begin
wake:
  call i64 (i64, ...) @syscall(FUTEX, ptr %state, i64 {_WAKE}, i64 %sleepers, i64 0, i64 0, i64 0)
  br label %begin
begin:
  call void @work(ptr %state, ptr %job, i64 0)
  %before = atomicrmw sub ptr %active, i64 {OPEN} acq_rel
  br label %wait
wait:
  %looks = phi i64 [ 0, %begin ], [ %looks.next, %again ]
  %working = load atomic i64, ptr %active acquire, align 8
  %ended = icmp eq i64 %working, 0
  br i1 %ended, label %close, label %look
look:
  PAUSE
  %looks.next = add i64 %looks, 1
  %patient = icmp slt i64 %looks, YIELD_AFTER
  br i1 %patient, label %again, label %offer
offer:
  call i32 @sched_yield()
  br label %again
again:
  br label %wait
close:
  store atomic i64 0, ptr %busy release, align 8
  ret void
}}

define void @join(ptr %state, i64 %slot) nounwind {{
entry:
{_word("%active", ACTIVE)}{_word("%sleepers", SLEEPERS)}{_word("%stop.place", STOP)}\
{_word("%job.place", CURRENT)}{_word("%spins.place", SPINS)}  br label %look
look:
  %seen = phi i32 [ 0, %entry ], [ %ticket, %find ], [ %ticket, %take ]
  %spins = load atomic i64, ptr %spins.place monotonic, align 8
  br label %spin
spin:
  %i = phi i64 [ 0, %look ], [ %i.next, %paused ]
  %now = load atomic i32, ptr %state acquire, align 4
  %changed = icmp ne i32 %now, %seen
  br i1 %changed, label %called, label %idle
idle:
  %more = icmp slt i64 %i, %spins
  br i1 %more, label %paused, label %sleep
paused:
  PAUSE
  %i.next = add i64 %i, 1
  br label %spin
sleep:
  %counted = atomicrmw add ptr %sleepers, i64 1 seq_cst
  br label %lie
lie:
  %still = load atomic i32, ptr %state seq_cst, align 4
  %woken = icmp ne i32 %still, %seen
  br i1 %woken, label %rise, label %doze
doze:
  %asked = zext i32 %seen to i64
  call i64 (i64, ...) @syscall(FUTEX, ptr %state, i64 {_WAIT}, i64 %asked, i64 0, i64 0, i64 0)
  br label %lie
rise:
  %uncounted = atomicrmw sub ptr %sleepers, i64 1 seq_cst
  br label %called
called:
  %ticket = phi i32 [ %now, %spin ], [ %still, %rise ]
  %stop = load atomic i64, ptr %stop.place acquire, align 8
  %ending = icmp ne i64 %stop, 0
  br i1 %ending, label %leave, label %find
find:
  %state.now = load atomic i64, ptr %active acquire, align 8
  %open = icmp uge i64 %state.now, {OPEN}
  br i1 %open, label %enter, label %look
enter:
  %state.more = add i64 %state.now, 1
  %tried = cmpxchg ptr %active, i64 %state.now, i64 %state.more acq_rel monotonic
  %entered = extractvalue {{ i64, i1 }} %tried, 1
  br i1 %entered, label %take, label %find
take:
  %job = load ptr, ptr %job.place
  call void @work(ptr %state, ptr %job, i64 %slot)
  %after = atomicrmw sub ptr %active, i64 1 release
  br label %look
leave:
  ret void
}}

define void @stop(ptr %state) nounwind {{
{_word("%stop.place", STOP)}  store atomic i64 1, ptr %stop.place release, align 8
  %ticket = atomicrmw add ptr %state, i32 1 seq_cst
  call i64 (i64, ...) @syscall(FUTEX, ptr %state, i64 {_WAKE}, i64 1024, i64 0, i64 0, i64 0)
  ret void
}}

"""
