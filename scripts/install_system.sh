#!/bin/sh
# Installs what optional parts need beyond Python (Debian or Ubuntu, as root): OpenGL for cameras, Chromium for tests.
set -e
export DEBIAN_FRONTEND=noninteractive
gl="libegl1 libegl-mesa0 libgl1-mesa-dri libosmesa6"
browser() { command -v chromium || command -v google-chrome; }
dpkg -s $gl >/dev/null 2>&1 && browser >/dev/null && exit 0
apt-get -qq update
apt-get -qq install --no-install-recommends $gl
browser >/dev/null || apt-get -qq install --no-install-recommends chromium fonts-dejavu-core
