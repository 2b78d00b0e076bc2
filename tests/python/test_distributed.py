# SPDX-License-Identifier: Apache-2.0
"""Training in two processes is training in one."""

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist
import torch.multiprocessing as mp
from network import Network, batch

STEPS = 3
pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this torch is not distributed")


def _train(network, ranks):
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05)
    losses = []
    for step in range(STEPS):
        optimiser.zero_grad()
        loss = sum(network(**batch(2, seed=10 * step + rank)) for rank in ranks) / len(ranks)
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return losses


def _worker(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    network = torch.nn.parallel.DistributedDataParallel(Network())
    _train(network, [rank])
    torch.save(network.module.state_dict(), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


def test_two_processes_train_as_one_does(tmp_path):
    mp.spawn(_worker, (str(tmp_path),), nprocs=2)
    alone = Network()
    _train(alone, [0, 1])
    start = Network().state_dict()
    for rank in range(2):
        trained = torch.load(f"{tmp_path}/{rank}.pt")
        for name, value in alone.state_dict().items():
            assert torch.allclose(trained[name], value, atol=1e-6), name
    assert any(not torch.equal(value, start[name]) for name, value in alone.state_dict().items())
