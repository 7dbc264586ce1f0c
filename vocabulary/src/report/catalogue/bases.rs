//! Base images, and what becomes of them: what a host will make of the image.

use super::Explanation;

pub(super) const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: "boot-entry-unchanged",
        title: "a boot entry that could not be changed",
        consequence: "A host that starts this entry gets no change of its kernel arguments.",
        mend: "Choose the entries that are to be changed, or let the host start another one.",
        example: None,
    },
    Explanation {
        code: "boot-entry-unreached",
        title: "a boot entry whose initramfs is not on the ISO",
        consequence: "A host that starts this entry gets no network configuration.",
        mend: "Nothing, if hosts start another entry; else take an ISO that holds all that its menu loads.",
        example: None,
    },
    Explanation {
        code: "boot-path-unreached",
        title: "a way to boot the ISO that dayone cannot change",
        consequence: "A host that boots in this way gets neither the network configuration nor the kernel arguments.",
        mend: "Nothing, if hosts start another entry; else use an ISO whose boot menus load a kernel and an initrd.",
        example: None,
    },
    Explanation {
        code: "customised",
        title: "a base that somebody has customised already",
        consequence: "It cannot be customised again: what is embedded in it would come on top of the host's own.",
        mend: "Take the ISO as its vendor published it.",
        example: None,
    },
    Explanation {
        code: "cut-off-by-cd-emulation",
        title: "an image larger than some BMCs' CD-ROM drives",
        consequence: "BMCs with an older Linux that emulate a CD-ROM cut the image off: the host boots, and fails later when it \
                      reads the end.",
        mend: "Use a minimal ISO or the form usb, if the host fails while it loads its root file system.",
        example: None,
    },
    Explanation {
        code: "debian-installer",
        title: "the Debian installer, which reads no keyfiles",
        consequence: "The installer asks for the network, or uses DHCP; the keyfiles have no effect.",
        mend: "Give its network by preseeding: netcfg/… among the kernel arguments, or a file /preseed.cfg.",
        example: None,
    },
    Explanation {
        code: "flatcar-untested",
        title: "a delivery to Flatcar that has not been tried",
        consequence: "The files are where Flatcar's documentation says that they are read. Nobody has seen it do so.",
        mend: "Try it on one host before many.",
        example: None,
    },
    Explanation {
        code: "ignition-unused-key",
        title: "a key of the Ignition config that its spec does not know",
        consequence: "Ignition ignores it on the host; usually it is misspelt, or of a later spec.",
        mend: "Correct the key, or raise ignition.version if the system on the host knows that version.",
        example: None,
    },
    Explanation {
        code: "initrd-shared",
        title: "an initramfs that other boot entries load, too",
        consequence: "These entries get what is added to it as well.",
        mend: "Nothing, if that does no harm; else take an ISO whose entries have initramfs images of their own.",
        example: None,
    },
    Explanation {
        code: "initrd-unchanged",
        title: "an initramfs to which nothing could be added",
        consequence: "A host that starts a boot entry with it gets no network configuration.",
        mend: "Nothing, if hosts start another entry; else mend what the finding says.",
        example: None,
    },
    Explanation {
        code: "initrd-unusable",
        title: "an initramfs that cannot be extended",
        consequence: "Images of this base cannot give a network to a host that starts it.",
        mend: "Nothing, if hosts start another entry; else take another base.",
        example: None,
    },
    Explanation {
        code: "medium-check-removed",
        title: "the medium's check of itself is taken out",
        consequence: "The host does not compare the medium with a check sum when it starts; it would not be equal any more.",
        mend: "Nothing: the image's own digest can be compared instead.",
        example: None,
    },
    Explanation {
        code: "network-manager-assumed",
        title: "a system of which only the beginning can be seen",
        consequence: "If the root file system after it has no NetworkManager, the keyfiles have no effect.",
        mend: "Make sure that the system has NetworkManager; or name the delivery that fits.",
        example: None,
    },
    Explanation {
        code: "no-live-initrd-network",
        title: "an older CoreOS whose initramfs reads no keyfiles",
        consequence: "The network is there from the booted system on. In the initramfs it is not: an Ignition config that fetches \
                      parts over the network finds none.",
        mend: "Take a newer CoreOS, or put everything into the Ignition config itself.",
        example: None,
    },
    Explanation {
        code: "no-network-manager",
        title: "an initramfs without NetworkManager",
        consequence: "Nothing there reads keyfiles: the host comes up without the network that is described.",
        mend: "Use an initramfs with NetworkManager, or make sure that the root file system that follows has it.",
        example: None,
    },
    Explanation {
        code: "not-hybrid",
        title: "an ISO without a partition table",
        consequence: "A BMC that shows it to the host as a disk, as OpenBMC does, cannot boot it.",
        mend: "Use the form usb, which lays a partition table over it, where the BMC shows media as disks.",
        example: None,
    },
    Explanation {
        code: "partial-last-block",
        title: "an ISO that does not end with a whole block",
        consequence: "A CD-ROM drive reads blocks of 2048 bytes, and cuts off the rest.",
        mend: "Check that the download is complete; a well-formed ISO is a multiple of 2048 bytes long.",
        example: None,
    },
    Explanation {
        code: "rootfs-url-missing",
        title: "nobody tells the system where its root file system is",
        consequence: "The kernel and the initramfs start, and the host stops there: it waits for coreos.live.rootfs_url.",
        mend: "Give the URL of rootfs.img, or the kernel argument coreos.live.rootfs_url.",
        example: None,
    },
];
