"""Futures: set once, waited for by many."""

import threading

import pytest

from lamina.futures import Future, collect_all, wait_all


def done(value):
    future = Future()
    future.set_result(value)
    return future


def failed(error):
    future = Future()
    future.set_exception(error)
    return future


def test_a_thread_waits_for_what_another_sets():
    future, seen = Future(), []
    waiter = threading.Thread(target=lambda: seen.append(future.wait()))
    waiter.start()
    assert not future.done()
    future.set_result(3)
    waiter.join(10)
    assert (seen, future.done(), future.value()) == ([3], True, 3)


def test_a_result_is_set_once():
    future = done(1)
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(2)
    assert future.wait() == 1


def test_an_error_is_raised_where_it_is_waited_for():
    future = failed(ValueError("why"))
    for ask in (future.wait, future.value):
        with pytest.raises(ValueError, match="why"):
            ask()
    with pytest.raises(AssertionError, match="not an Exception"):
        Future().set_exception("words")


def test_what_has_not_come_has_no_value():
    with pytest.raises(RuntimeError, match="has not completed"):
        Future().value()


def test_callbacks_run_in_their_order_also_when_they_come_late():
    future, seen = Future(), []
    future.add_done_callback(lambda f: seen.append(("first", f.wait())))
    follows = future.then(lambda f: f.wait() + 1)
    future.set_result(1)
    future.add_done_callback(lambda f: seen.append(("late", f.wait())))
    assert seen == [("first", 1), ("late", 1)]
    assert follows.wait() == 2


def test_an_error_of_a_callback_is_that_of_the_future_it_gave():
    follows = done(1).then(lambda f: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        follows.wait()


def test_several_are_waited_for():
    first, second = Future(), done(2)
    both = collect_all([first, second])
    assert not both.done()
    first.set_result(1)
    assert both.wait() == [first, second]
    assert wait_all([first, second]) == [1, 2]
    assert wait_all([]) == []
    with pytest.raises(ValueError, match="why"):
        wait_all([first, failed(ValueError("why"))])


def test_it_says_in_annotations_of_what():
    assert Future[int].__origin__ is Future
