#!/bin/sh
# Written by dayone: tells the server that this system was booted from that the system is up and has its network.
# NetworkManager-dispatcher(8) calls it with an interface and an action. It calls home once for each boot.
url='@URL@'
host='@HOST@'
port='@PORT@'
authority='@AUTHORITY@'
path='@PATH@'
state=/run/dayone-call-home

# What says that there is an address.
case "$2" in
    up | reapply | dhcp4-change | dhcp6-change | connectivity-change) ;;
    *) exit 0 ;;
esac
[ "$1" != lo ] || exit 0

# There while it calls, and from when it has.
mkdir "$state" 2>/dev/null || exit 0

tell() {
    logger -t dayone "$1" 2>/dev/null || echo "<6>dayone: $1" > /dev/kmsg
}

# The certificate is not looked at: nothing secret is said, and nothing that is answered is believed.
by_curl() {
    [ "$(curl -gks --noproxy '*' -A dayone-call-home --max-time 4 -o /dev/null -w '%{http_code}' "$url")" = 204 ]
}

by_bash() {
    # shellcheck disable=SC2016 # bash is to expand it
    timeout 4 bash -c '
        exec 3<> "/dev/tcp/$1/$2" &&
        printf "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: dayone-call-home\r\nConnection: close\r\n\r\n" "$4" "$3" >&3 &&
        read -r _ status _ <&3 && [ "$status" = 204 ]
    ' dayone "$host" "$port" "$authority" "$path"
}

has() {
    command -v "$1" > /dev/null 2>&1
}

if has curl; then
    way=by_curl
elif [ "${url%%:*}" = http ] && has bash && has timeout; then
    way=by_bash
else
    tell "cannot call home to $authority: there is no curl here, and for http no bash either"
    exit 0
fi

# Not waited for: other scripts have their turn, and what runs for long is killed. A switch may need a minute before it
# forwards anything, and nothing says when it does.
(
    for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        if "$way"; then
            tell "called home to $authority (try $try, $1 $2)"
            exit 0
        fi
        sleep 5
    done
    rmdir "$state"
    tell "could not call home to $authority in $try tries; the next network event is another chance"
) < /dev/null > /dev/null 2>&1 &
