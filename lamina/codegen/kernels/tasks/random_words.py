"""The words of the Mersenne Twister (Matsumoto and Nishimura, 1998), and uniform numbers of them.

NumPy's engine keeps 624 words of 32 bits, and after them how many are used up. The same memory is
used here, so the stream may be drawn from by machine code and by NumPy in turns.
"""

from __future__ import annotations

from typing import Final

from lamina.codegen.kernels.tasks.routines import Address, Routine, least
from lamina.codegen.llvm.ir import TABLE, Block, Function, Lanes

SIZE: Final = 624
_DISTANCE: Final = 397
_UPPER, _LOWER, _MATRIX = -(1 << 31), (1 << 31) - 1, 0x9908B0DF - (1 << 32)
_MASKS: Final = (0x9D2C5680 - (1 << 32), 0xEFC60000 - (1 << 32))

STATE, WORDS, WORD_COUNT, TASK_AT, PIECES, OUT, COUNT, START, FIRST_PARAMETER = range(9)
"""The entries of the table: the engine's memory, where words go, how many, the task that makes
numbers of them, how many pieces it does, where numbers go, how many these are in all, and how many
of them were made before. The rest is up to the task.
"""


def word_functions(width: int) -> list[Function]:
    """What draws words; `draw_and_fill` also does a task at once, for few numbers.

    Args:
        width: How many words a vector holds.
    """
    return [_renew(width), _draw(), _draw_and_fill()]


# --- the engine --------------------------------------------------------------------------------


def _renew(width: int) -> Function:
    """All 624 words anew.

    Word i comes of the words i, i + 1 and i + 397, counted round the circle; those before i are new
    already. So the steps up to 227 read old words alone, and later ones words that are 227 behind.
    """
    routine = Routine("renew", "ptr %key")
    routine.function.is_internal = True
    key, near = routine.address("key"), SIZE - _DISTANCE
    for begin, end, ahead in ((0, near, _DISTANCE), (near, SIZE - 1, -near)):
        for lanes in (width, 4, 0):
            step = max(lanes, 1)
            stop = begin + (end - begin) // step * step
            block = Block(routine.function, lanes)
            with routine.loop(begin, routine.number(stop), step) as index:
                _renew_some(key, block, index, index + 1, index + ahead)
            begin = stop
    last = routine.number(SIZE - 1)
    _renew_some(key, routine.numbers, last, routine.number(0), last - near)
    return routine.function


def _renew_some(key: Address, block: Block, index: Lanes, following: Lanes, far: Lanes) -> None:
    low = key.lanes("i32", block, following)
    mixed = (key.lanes("i32", block, index) & _UPPER) | (low & _LOWER)
    odd = (low & 1).compare("ne", 0).where(block.constant("i32", _MATRIX), 0)
    key.store(key.lanes("i32", block, far) ^ mixed.op("lshr", 1) ^ odd, index)


def _draw() -> Function:
    """The next words, as the engine keeps them: whoever reads them tempers them."""
    routine = Routine("draw", "ptr %key, ptr %words, i64 %count")
    routine.function.is_internal = True
    key, words, count = routine.address("key"), routine.address("words"), routine.parameter("count")
    position = key.at("i32", SIZE)
    used = position.load("i32").convert("zext", "i64")
    ready = least(SIZE - used, count)
    key.at("i32", used).copy_to(words, ready << 2)
    position.store((used + ready).convert("trunc", "i32"))
    with routine.loop(ready, count, SIZE) as done:
        routine.call("renew", key)
        taken = least(count - done, SIZE)
        key.copy_to(words.at("i32", done), taken << 2)
        position.store(taken.convert("trunc", "i32"))
    return routine.function


def _draw_and_fill() -> Function:
    """Draw words, and make numbers of them at once, unless there are no pieces to do."""
    routine = Routine("draw_and_fill", TABLE)
    routine.call(
        "draw", routine.entry_address(STATE), routine.entry_address(WORDS),
        routine.entry(WORD_COUNT),
    )  # fmt: skip
    pieces = routine.entry(PIECES)
    with routine.when(pieces.compare("ne", 0)):
        task = routine.entry_address(TASK_AT).name
        given = f"ptr %table, i64 0, i64 {pieces.name}, i64 0"
        routine.function.line(f"call void {task}({given})")
    return routine.function


# --- uniform numbers ---------------------------------------------------------------------------


def tempered(word: Lanes) -> Lanes:
    """Words as the stream gives them."""
    word = word ^ word.op("lshr", 11)
    for shift, mask in zip((7, 15), _MASKS, strict=True):
        word = word ^ ((word << shift) & mask)
    return word ^ word.op("lshr", 18)


def words_at(words: Address, block: Block, index: Lanes) -> Lanes:
    """Words of the stream, as many as a block is wide."""
    return tempered(words.lanes("i32", block, index))


def pairs_at(words: Address, block: Block, index: Lanes) -> Lanes:
    """Numbers of 64 bits; `index` counts them. The first word of two is the high half."""
    wide = max(block.width, 1) * 2
    drawn = words_at(words, Block(block.function, wide), index << 1)
    pairs = block.give("i64", f"bitcast <{wide} x i32> {drawn.name} to {block.vector('i64')}")
    return (pairs << 32) | pairs.op("lshr", 32)


def singles_at(words: Address, block: Block, index: Lanes) -> Lanes:
    """float32 in [0, 1), from the low 24 bits of words."""
    low = words_at(words, block, index) & ((1 << 24) - 1)
    return low.convert("sitofp", "float") * 2.0**-24


def doubles_at(words: Address, block: Block, index: Lanes) -> Lanes:
    """float64 in [0, 1), from the low 53 bits of pairs; `index` counts pairs."""
    low = pairs_at(words, block, index) & ((1 << 53) - 1)
    return low.convert("uitofp", "double") * 2.0**-53


def units_at(kind: str, words: Address, block: Block, index: Lanes) -> Lanes:
    """Numbers in [0, 1) of a kind: `float` or `double`."""
    return (singles_at if kind == "float" else doubles_at)(words, block, index)
