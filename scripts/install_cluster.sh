#!/bin/sh
# Installs Slurm with accounting for the cluster tests (Debian or Ubuntu, as root). Starts no service.
set -e
packages="slurm-wlm slurm-client munge slurmdbd mariadb-server"
dpkg -s $packages >/dev/null 2>&1 && exit 0
policy=/usr/sbin/policy-rc.d
test -e $policy || { trap "rm $policy" EXIT; printf '#!/bin/sh\nexit 101\n' > $policy; chmod +x $policy; }
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $packages
