#!/usr/bin/env python3
"""The rack's cables. There is no DHCP server and no router in it.

network.py switch TAP ADDRESS... -- NICS   an Ethernet switch between NICS virtual NICs and the network interface TAP, which it
                                           makes and gives the ADDRESSes. NIC n is QEMU's UDP socket 21000+n.
network.py relay LISTEN CONNECT            passes connections on; each end is HOST:PORT or the path of a Unix socket, which
                                           reaches from one network namespace into another
"""

import asyncio
import fcntl
import os
import selectors
import socket
import struct
import subprocess
import sys

SWITCH, NIC = 20_000, 21_000
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
LARGEST = 16 << 10


def switch(name, addresses, nics):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    for address in addresses:
        # An address that is checked for duplicates first could not be listened on at once.
        subprocess.run(["ip", "address", "add", address, "dev", name, *(["nodad"] if ":" in address else [])], check=True)
    subprocess.run(["ip", "link", "set", name, "up"], check=True)

    # The ports: first the tap, then the NICs.
    sockets = []
    for number in range(nics):
        nic = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        nic.bind(("127.0.0.1", SWITCH + number))
        nic.connect(("127.0.0.1", NIC + number))
        nic.setblocking(False)
        sockets.append(nic)
    files = [tap, *(nic.fileno() for nic in sockets)]
    selector = selectors.DefaultSelector()
    for port, file in enumerate(files):
        selector.register(file, selectors.EVENT_READ, port)
    learned = {}
    while True:
        for key, _ in selector.select():
            try:
                frame = os.read(key.fd, LARGEST)
            except OSError:  # Nothing left, or a machine that is off.
                continue
            if len(frame) >= 14:
                learned[frame[6:12]] = key.data
                to = learned.get(frame[:6])
                for port in [to] if to is not None else range(len(files)):
                    if port != key.data:
                        send(files[port], frame)


def send(file, frame):
    try:
        os.write(file, frame)
    except OSError:  # A machine that is off, or a full queue: Ethernet may lose frames.
        pass


async def relay(listen, connect):
    async def accept(reader, writer):
        try:
            other_reader, other_writer = await opened(connect)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pass_on(reader, other_writer), pass_on(other_reader, writer), return_exceptions=True)

    if listen.startswith("/"):
        server = await asyncio.start_unix_server(accept, listen)
    else:
        host, port = listen.rsplit(":", 1)
        server = await asyncio.start_server(accept, host, int(port))
    await server.serve_forever()


def opened(place):
    if place.startswith("/"):
        return asyncio.open_unix_connection(place)
    host, port = place.rsplit(":", 1)
    return asyncio.open_connection(host, int(port))


async def pass_on(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


if __name__ == "__main__":
    action, *arguments = sys.argv[1:]
    if action == "switch":
        at = arguments.index("--")
        switch(arguments[0], arguments[1:at], int(arguments[at + 1]))
    elif action == "relay":
        asyncio.run(relay(*arguments))
    else:
        sys.exit(__doc__)
