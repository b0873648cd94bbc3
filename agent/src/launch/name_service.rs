//! The C library's name service in a program that carries the C library with it: users and hosts are looked up in files
//! and in DNS, which such a program has inside.
//!
//! `/etc/nsswitch.conf` may name other services (LDAP, mDNS, systemd). A program with the C library inside would load
//! their shared libraries and the host's own C library beside its own, which works only where both are of the same
//! version and may crash elsewhere. So what that file says is not followed there.
#![cfg_attr(target_feature = "crt-static", expect(unsafe_code, reason = "a setting of the C library"))]

/// Makes look-ups independent of the host's shared libraries, where the C library is inside the program. To be called
/// before there is a second thread and before the first look-up.
pub fn settle() {
    #[cfg(target_feature = "crt-static")]
    for (database, services) in
        [(c"hosts", c"files dns"), (c"passwd", c"files"), (c"group", c"files"), (c"initgroups", c"files")]
    {
        unsafe extern "C" {
            /// Of glibc's `nss.h`; not in the crate `libc`.
            fn __nss_configure_lookup(
                database: *const std::ffi::c_char,
                services: *const std::ffi::c_char,
            ) -> std::ffi::c_int;
        }
        // SAFETY: two C strings, which the library copies what it needs of; there is one thread.
        let _ = unsafe { __nss_configure_lookup(database.as_ptr(), services.as_ptr()) };
    }
}

/// Whether the C library is inside the program.
pub const IS_INSIDE: bool = cfg!(target_feature = "crt-static");
