//! Telegram passes the suite, by polling and by webhook.

mod troubles;

mod polling {
    use homing_platforms::telegram::TelegramKind;

    homing_platforms::platform_suite!(TelegramKind::Polling, not_of_it = 2);
}

mod webhook {
    use homing_platforms::telegram::TelegramKind;

    homing_platforms::platform_suite!(TelegramKind::Webhook, not_of_it = 38);
}
