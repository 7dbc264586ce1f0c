install_file() {
    mkdir -p "${1%/*}"
    rm -f "$1"
    (umask 077 && base64 -d > "$1")
    chmod "$2" "$1"
    # SELinux may forbid NetworkManager to read a file without its label.
    if [ -x /usr/sbin/restorecon ]; then
        /usr/sbin/restorecon "$1" || echo "$1 may have another label of SELinux than it should"
    fi
}
