"""Kernels forked from one process that has the slow imports behind it.

torch and transformers take seconds to import, and nearly every chapter needs them. The first
kernel starts a fork server that imports them; each kernel is a fork of it, with a namespace and a
search path of its own. Nothing of the project is imported there, so a kernel sees today's code.
Outputs are recorded by ordinary kernels (tools/notebooks.py), checks and the site use these.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import threading
from functools import cache
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

IMPORTED = (
    "ipykernel.kernelapp",
    "nbformat",  # its grammars of addresses take two seconds
    "matplotlib.figure",
    "plotly.graph_objects",
    "pandas",
    "scipy.stats",
    "datasets",
    "peft",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.llama.modeling_llama",
)
FORKS = "forkserver" in multiprocessing.get_all_start_methods()


class Forked(LocalProvisioner):
    """Start a kernel by a fork, in place of a new interpreter."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork, and let the fork serve what the command's arguments say."""
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        given = arguments, dict(kwargs["env"]), str(kwargs["cwd"]), _search_path()
        process = _context().Process(target=_serve, args=given)
        process.start()
        self.process, self.pid, self.cwd = _Started(process), process.pid, kwargs["cwd"]
        return self.connection_info


class ForkedKernelManager(AsyncKernelManager):
    """A manager whose kernels are forks; ordinary processes where the system has no forks."""

    async def _async_pre_start_kernel(self, **kwargs: Any) -> tuple[list[str], dict[str, Any]]:
        if FORKS and self.provisioner is None:
            self.provisioner = Forked(kernel_spec=self.kernel_spec, parent=self)
        return await super()._async_pre_start_kernel(**kwargs)

    pre_start_kernel = _async_pre_start_kernel


class _Started:
    """A process with the part of subprocess.Popen's interface that a provisioner uses."""

    stdin = stdout = stderr = None

    def __init__(self, process: multiprocessing.Process) -> None:
        self.process = process
        self.kill, self.terminate = process.kill, process.terminate

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def send_signal(self, signum: int) -> None:
        os.kill(self.process.pid, signum)


@cache
def _context() -> multiprocessing.context.BaseContext:
    """Start method of the kernels; the server takes the environment of its first kernel."""
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    return context


@cache
def _search_path() -> list[str]:
    """Where a fresh interpreter looks for modules, its own folder left out."""
    ask = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.path[1:]))"]
    return json.loads(subprocess.run(ask, capture_output=True, check=True).stdout)


def _serve(arguments: list[str], environment: dict[str, str], folder: str, path: list[str]) -> None:
    """Be a kernel, in a fork, until it is shut down."""
    from ipykernel.kernelapp import launch_new_instance

    threading.Thread(target=_end_with, args=[multiprocessing.parent_process()], daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:] = path
    own = [f"--IPKernelApp.parent_handle={os.getppid()}"]
    quiet = [
        "--IPKernelApp.log_level=40"
    ]  # else a line a chapter: the connection has no encryption
    launch_new_instance(argv=[*arguments, *own, *quiet])


def _end_with(parent: multiprocessing.Process) -> None:
    """End this kernel when the process that asked for it has ended, however that was."""
    parent.join()
    os._exit(1)
