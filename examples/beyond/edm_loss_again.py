"""The loss of `edm_loss.py` with other extents and another surrounding: images of three channels
whose losses are weighed and summed, and what was denoised is made a picture.

BEYOND_SMALL=1: small, as without a GPU.
"""

import os

import torch
from torch import nn

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
IMAGES, CHANNELS, SIDE = (6, 3, 8) if SMALL else (8192, 3, 32)


class Model(nn.Module):
    def __init__(self, sigma_data=0.5):
        super().__init__()
        self.sigma_data = sigma_data

    def forward(self, images, noise, sigma, network, scale):
        sigma = sigma.float().reshape(-1, 1, 1, 1)
        noisy = images.float() + noise.float() * sigma
        total = sigma**2 + self.sigma_data**2
        c_skip = self.sigma_data**2 / total
        c_out = sigma * self.sigma_data / total.sqrt()
        weight = total / (sigma * self.sigma_data) ** 2
        denoised = c_skip * noisy + c_out * network.float()
        loss = weight * (denoised - images.float()) ** 2
        loss = loss.mean(dim=(1, 2, 3))
        shown = (denoised.to(images.dtype) * 127.5 + 128).clamp(0, 255)
        return (loss * scale).sum(), shown


def get_inputs():
    shape = (IMAGES, CHANNELS, SIDE, SIDE)
    sigma = torch.exp(torch.randn(IMAGES) * 1.2 - 1.2)
    images, noise, network = torch.randn(shape) * 0.5, torch.randn(shape), torch.randn(shape)
    return [images, noise, sigma, network, torch.rand(IMAGES)]


def get_init_inputs():
    return []
