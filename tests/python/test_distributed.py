# SPDX-License-Identifier: Apache-2.0
"""Training in two processes gives the result of training in one."""

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist
import torch.multiprocessing as mp
from network import Network, batch

STEPS = 3
pytestmark = pytest.mark.skipif(
    not dist.is_available(), reason="this torch lacks torch.distributed"
)


def to(value, device):
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _train(network, ranks, device="cpu"):
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05)
    losses = []
    for step in range(STEPS):
        optimiser.zero_grad()
        batches = [batch(2, seed=10 * step + rank) for rank in ranks]
        inputs = [{key: to(value, device) for key, value in one.items()} for one in batches]
        loss = sum(network(**one) for one in inputs) / len(ranks)
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return losses


def _worker(rank, folder, backend):
    torch.set_num_threads(1)
    dist.init_process_group(backend, init_method=f"file://{folder}/store", rank=rank, world_size=2)
    device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
    network = torch.nn.parallel.DistributedDataParallel(Network().to(device))
    _train(network, [rank], device)
    torch.save(network.module.state_dict(), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.parametrize(
    "backend",
    [
        "gloo",
        pytest.param(
            "nccl",
            marks=pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs"),
        ),
    ],
)
def test_two_processes_train_as_one(tmp_path, backend):
    tolerance = 1e-6 if backend == "gloo" else 1e-4  # convolutions differ between devices
    mp.spawn(_worker, (str(tmp_path), backend), nprocs=2)
    alone = Network()
    _train(alone, [0, 1])
    start = Network().state_dict()
    for rank in range(2):
        trained = torch.load(f"{tmp_path}/{rank}.pt", map_location="cpu")
        for name, value in alone.state_dict().items():
            assert torch.allclose(trained[name], value, atol=tolerance), name
    assert any(not torch.equal(value, start[name]) for name, value in alone.state_dict().items())
