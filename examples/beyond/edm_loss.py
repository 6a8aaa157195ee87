"""The preconditioned loss of EDM (Karras et al.): an image's noise level says how noisy it
becomes, how much of it is skipped past the network, whose result is given, and how much its error
weighs.

A number an image is broadcast over it; the errors are averaged over it. BEYOND_SMALL=1: small, as
without a GPU.
"""

import os

import torch
from torch import nn

WISH = os.environ.get("BEYOND_SMALL")
SMALL = not torch.cuda.is_available() if WISH is None else WISH != "0"
IMAGES, CHANNELS, SIDE = (4, 4, 8) if SMALL else (2048, 4, 64)


class Model(nn.Module):
    def __init__(self, sigma_data=0.5):
        super().__init__()
        self.sigma_data = sigma_data

    def forward(self, images, noise, sigma, network):
        sigma = sigma.float().reshape(-1, 1, 1, 1)
        noisy = images.float() + noise.float() * sigma
        total = sigma**2 + self.sigma_data**2
        c_skip = self.sigma_data**2 / total
        c_out = sigma * self.sigma_data / total.sqrt()
        weight = total / (sigma * self.sigma_data) ** 2
        denoised = c_skip * noisy + c_out * network.float()
        loss = weight * (denoised - images.float()) ** 2
        return loss.mean(dim=(1, 2, 3)), denoised.to(images.dtype)


def get_inputs():
    shape = (IMAGES, CHANNELS, SIDE, SIDE)
    sigma = torch.exp(torch.randn(IMAGES) * 1.2 - 1.2)
    return [torch.randn(shape) * 0.5, torch.randn(shape), sigma, torch.randn(shape)]


def get_init_inputs():
    return []
