"""Only what pyproject.toml cannot say: a wheel with the compiled engine inside belongs to a platform, but to no Python version.

`tools/dist.py` puts the library into the package and names the platform. Without it, as in `pip install .`, the wheel has
no library, and the engine is compiled at first use.
"""

import os

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

PLATFORM = os.environ.get("QKV_WHEEL_PLATFORM")


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return PLATFORM is not None


class PlatformWheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", PLATFORM) if PLATFORM else super().get_tag()


setup(distclass=PlatformDistribution, cmdclass={"bdist_wheel": PlatformWheel})
