"""Storages: the memory behind tensors."""

import pytest

import lamina as torch


def test_views_have_their_bases_storage():
    x = torch.arange(6.0)
    for view in (x[2:], x.view(2, 3).t(), x.as_strided((2,), (2,), 1), x.detach()):
        assert view.untyped_storage().data_ptr() == x.data_ptr()
        assert view.untyped_storage().nbytes() == 24
        assert view.untyped_storage()._cdata == x.untyped_storage()._cdata
    assert x.clone().untyped_storage().data_ptr() != x.data_ptr()
    assert torch.empty(0).untyped_storage().data_ptr() == 0


@pytest.mark.parametrize(("offset", "further"), [(3, 4), (0, 1)])
def test_where_a_view_begins_in_its_memory(offset, further):
    view = torch.arange(10).as_strided((2,), (1,), offset)
    assert view.storage_offset() == offset
    assert view[1:].storage_offset() == further


def test_bytes_and_elements():
    x = torch.tensor([1.0, 2.0])
    untyped, typed = x.untyped_storage(), x._typed_storage()
    assert untyped.tolist() == [0, 0, 128, 63, 0, 0, 0, 64]
    assert (len(untyped), untyped.size(), untyped.element_size()) == (8, 8, 1)
    assert typed.tolist() == [1, 2]
    assert (len(typed), typed.nbytes(), typed.element_size(), typed.dtype) == (2, 8, 4, x.dtype)
    assert typed.untyped().data_ptr() == untyped.data_ptr()
    assert torch.is_storage(untyped)
    assert not torch.is_storage(x)
    assert str(untyped[2:4].tolist()) == "[128, 63]"
    assert typed.type() == "torch.FloatStorage"
    assert untyped.type() == "torch.storage.UntypedStorage"
    assert not x.is_shared()


def test_writes_are_seen_by_tensors():
    x = torch.zeros(3)
    x._typed_storage()[1] = 5
    assert x.tolist() == [0, 5, 0]
    x._typed_storage().fill_(2)
    assert x.tolist() == [2, 2, 2]
    x.untyped_storage().copy_(torch.ones(3).untyped_storage())
    assert x.tolist() == [1, 1, 1]
    copy = x.untyped_storage().clone()
    copy.fill_(0)
    assert x.tolist() == [1, 1, 1]


def test_mistakes():
    storage = torch.ones(2).untyped_storage()
    with pytest.raises(IndexError, match="out of range for storage of size 8"):
        storage[8]
    with pytest.raises(RuntimeError, match="size does not match"):
        storage.copy_(torch.ones(3).untyped_storage())
    with pytest.raises(RuntimeError, match="Expected a Storage of type"):
        torch.empty(0).set_(torch.ones(2, dtype=torch.float64)._typed_storage())
    for offset, size, stride in [
        (0, (3,), (1,)),
        (-1, (1,), (1,)),
        (0, (2,), (2,)),
        (1, (2,), (1,)),
    ]:
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
            torch.empty(0).set_(storage, offset, size, stride)


def test_a_tensor_over_a_storage():
    x = torch.arange(6.0)
    y = torch.empty(0).set_(x.untyped_storage(), 1, (2, 2), (1, 2))
    assert y.tolist() == [[1, 3], [2, 4]]
    y.fill_(0)
    assert x.tolist() == [0, 0, 0, 0, 0, 5]
    assert torch.empty(0).set_(x[2:], 4, (2,)).tolist() == [0, 5]
    assert torch.empty(0).set_(x).tolist() == x.tolist()
    whole = torch.empty(0, dtype=torch.int32).set_(x.untyped_storage())
    assert whole.shape == (6,)
    assert torch.ones(2).set_().shape == (0,)


def test_storages_of_their_own():
    assert torch.UntypedStorage([1, 2]).tolist() == [1, 2]
    assert torch.UntypedStorage(3).nbytes() == 3
    assert torch.TypedStorage([1.5, 2]).tolist() == [1.5, 2]
    assert torch.TypedStorage(2, dtype=torch.int16).nbytes() == 4
    storage = torch.UntypedStorage([0, 0, 128, 63])
    assert torch.TypedStorage(wrap_storage=storage, dtype=torch.float32).tolist() == [1]


def test_devices():
    assert torch.ones(2, 2, device="meta").untyped_storage().nbytes() == 16
    with torch.cuda.simulate():
        x = torch.ones(2, device="cuda")
        storage = x.untyped_storage()
        assert storage.is_cuda
        assert str(storage.device) == "cuda:0"
        assert storage.get_device() == 0
        assert storage.cpu().tolist() == x.cpu().untyped_storage().tolist()
        assert storage.cuda() is storage
        assert str(storage.cpu().cuda().device) == "cuda:0"


def test_how_storages_print():
    assert repr(torch.UntypedStorage([7])) == (
        " 7\n[torch.storage.UntypedStorage(device=cpu) of size 1]"
    )
    assert repr(torch.TypedStorage([1.0])) == (
        " 1.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 1]"
    )


def test_the_older_method_warns():
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        assert torch.ones(2).storage().tolist() == [1, 1]


def test_a_file_is_mapped(tmp_path):
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(16)))
    storage = torch.UntypedStorage.from_file(file, nbytes=16)
    assert storage[2:5].tolist() == [2, 3, 4]
    part = torch.asarray(storage[2:6], dtype=torch.uint8)
    assert part.view(torch.int16).tolist() == [770, 1284]
    storage[0] = 9
    assert file.read_bytes()[0] == 0  # not shared: the file stays as it is
    assert torch.UntypedStorage.from_file(file, nbytes=0).nbytes() == 0


def test_a_shared_file_is_written_and_made_longer(tmp_path):
    file = tmp_path / "bytes"
    storage = torch.UntypedStorage.from_file(str(file), shared=True, nbytes=4)
    storage.fill_(7)
    assert file.read_bytes() == b"\x07" * 4
    torch.UntypedStorage.from_file(file, shared=True, nbytes=6)
    assert file.read_bytes() == b"\x07" * 4 + b"\0" * 2


def test_a_file_that_is_too_short_is_refused(tmp_path):
    file = tmp_path / "bytes"
    file.write_bytes(b"12")
    with pytest.raises(RuntimeError, match=r"unable to map 4 bytes of .* which has 2"):
        torch.UntypedStorage.from_file(file, nbytes=4)
