#!/bin/sh
# Installs what optional parts need beyond Python (Debian or Ubuntu, as root): OpenGL without a screen, for cameras.
set -e
packages="libegl1 libegl-mesa0 libgl1-mesa-dri libosmesa6"
dpkg -s $packages >/dev/null 2>&1 && exit 0
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $packages
