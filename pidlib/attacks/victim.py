"""The model under attack, as TextAttack calls it; importing this imports TextAttack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from pidlib.attacks.offline import load_textattack
from pidlib.data.batches import memoised
from pidlib.data.labels import label_order

ta = load_textattack()
Text = str | tuple[str, str]


class Victim(ta.models.wrappers.ModelWrapper):
    """The model under attack: texts in, probabilities out, in our label order."""

    def __init__(self, model: Any, tokenizer: Any, max_length: int = 256) -> None:
        self.model, self.tokenizer, self.max_length = model, tokenizer, max_length
        self.order = label_order(model.config)
        self.memory: dict[Text, torch.Tensor] = {}
        self._gradients = 0

    @property
    def forwards(self) -> int:
        """Distinct texts computed since the last `forget`, gradients among them."""
        return len(self.memory) + self._gradients

    def forget(self) -> None:
        """Empty the memory of texts."""
        self.memory.clear()
        self._gradients = 0

    def __call__(self, text_input_list: Sequence[Text], **_: Any) -> torch.Tensor:
        """Probabilities (N, classes), on the CPU in single precision."""
        return torch.stack(memoised(self.memory, text_input_list, self._probabilities))

    def _probabilities(self, texts: list[Text]) -> torch.Tensor:
        with self._evaluating(), torch.inference_mode():
            logits = self.model(**self._inputs(texts)).logits[:, self.order].float()
            return logits.softmax(-1).cpu()

    def get_grad(self, text_input: Text) -> dict[str, Any]:
        """Gradient of the loss for the predicted label by the word embeddings; stock: with dropout."""
        inputs, taken = self._inputs([text_input]), []

        def take(_module: Any, _args: Any, output: torch.Tensor) -> torch.Tensor:
            taken.append(output.detach().requires_grad_())
            return taken[-1]

        hook = self.model.get_input_embeddings().register_forward_hook(take)
        with hook, self._evaluating(), torch.enable_grad():
            logits = self.model(**inputs).logits.float()
            loss = torch.nn.functional.cross_entropy(logits, logits.argmax(-1))
            (gradient,) = torch.autograd.grad(loss, taken[0])
        self._gradients += 1
        return {"ids": inputs["input_ids"], "gradient": gradient[0].cpu().numpy()}

    def _tokenize(self, inputs: Sequence[Text]) -> list[list[str]]:
        encoded = self.tokenizer(list(inputs), truncation=True, max_length=self.max_length)
        return [self.tokenizer.convert_ids_to_tokens(ids) for ids in encoded["input_ids"]]

    def _inputs(self, texts: list[Text]) -> Any:
        return self.tokenizer(
            texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        ).to(self.model.device)

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        training = self.model.training
        self.model.eval()  # dropout must not leak into an attack
        try:
            yield
        finally:
            self.model.train(training)
