#!/usr/bin/env bash
# Makes room for a Kubernetes node, and keeps it: tests/node.sh DIRECTORY ADDRESS OUTSIDE...
#
# Run in namespaces of its own (network, mounts, processes), with which everything that runs in the room
# ends. Nothing outside is changed but DIRECTORY, in which everything is written, and cgroups of its name.
# DIRECTORY/room is there once it is ready.
set -euo pipefail
directory=$1
address=$2
shift 2

# Pods' volumes are mounts too, which containers are to see; nobody outside is.
mount --make-rshared /
mount -t tmpfs tmpfs /run
mkdir -p "$directory"/{lib,work,log}
mount -t overlay overlay /var/lib -o "lowerdir=/var/lib,upperdir=$directory/lib,workdir=$directory/work"
mount --bind "$directory/log" /var/log

# Hosts outside of the cluster have the addresses OUTSIDE, in a network of their own at the other end of
# the wire: what pods send to them is forwarded, and network policies apply to it.
gateway="${address%.*}.254"
ip link set lo up
ip netns add outside
ip link add node0 type veth peer name node1 netns outside
ip address add "$address/24" dev node0
ip link set node0 up
ip route add default via "$gateway" dev node0
ip -n outside link set lo up
ip -n outside address add "$gateway/24" dev node1
ip -n outside link set node1 up
for host in "$@"; do
  ip -n outside address add "$host/32" dev lo
done
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
# A program decides about each new connection of pods by network policies. It adds rules for that by itself, but not all
# kernels have what these need.
iptables --table mangle --append FORWARD --match conntrack --ctstate NEW --jump NFQUEUE --queue-num 100

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
