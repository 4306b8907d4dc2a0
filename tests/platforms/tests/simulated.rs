//! The generic simulated platform passes the suite, whatever it can do about repeats.

mod deduplicates {
    use homing_platforms::simulated::Simulated;
    use homing_ports::platform::Repeats;

    homing_platforms::platform_suite!(Simulated(Repeats::Deduplicates), not_of_it = 34);
}

mod looks_up {
    use homing_platforms::simulated::Simulated;
    use homing_ports::platform::Repeats;

    homing_platforms::platform_suite!(Simulated(Repeats::LookUp), not_of_it = 34);
}

mod unprotected {
    use homing_platforms::simulated::Simulated;
    use homing_ports::platform::Repeats;

    homing_platforms::platform_suite!(Simulated(Repeats::Unprotected), not_of_it = 34);
}
