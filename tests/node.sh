#!/usr/bin/env bash
# Makes room for a Kubernetes node, and keeps it: tests/node.sh DIRECTORY ADDRESS
#
# Run in namespaces of its own (network, mounts, processes), with which everything that runs in the room
# ends. Nothing outside is changed but DIRECTORY, in which everything is written, and cgroups of its name.
# DIRECTORY/room is there once it is ready.
set -euo pipefail
directory=$1
address=$2

# Pods' volumes are mounts too, which containers are to see; nobody outside is.
mount --make-rshared /
mount -t tmpfs tmpfs /run
mkdir -p "$directory"/{lib,work,log}
mount -t overlay overlay /var/lib -o "lowerdir=/var/lib,upperdir=$directory/lib,workdir=$directory/work"
mount --bind "$directory/log" /var/log

# Both ends of the wire are here: all that is needed is an address that is no loopback's, and a way to
# the addresses of Services.
ip link set lo up
ip link add node0 type veth peer name node1
ip address add "$address/24" dev node0
ip link set node0 up
ip link set node1 up
ip route add default via "${address%.*}.254" dev node0
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables

# A group that says nothing of processors and memory takes no processes.
for controller in /sys/fs/cgroup/*/; do
  group="$controller${directory##*/}"
  mkdir -p "$group"
  for setting in cpuset.cpus cpuset.mems; do
    [ ! -e "$group/$setting" ] || cat "$controller$setting" >"$group/$setting"
  done
done

touch "$directory/room"
# The first process is the one to which the dead are left, and `wait` buries them.
sleep infinity &
wait
