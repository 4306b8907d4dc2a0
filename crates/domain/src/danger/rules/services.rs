//! Containers, clusters and clouds.

use super::super::Rule;
use super::super::call::{Call, Findings};
use super::super::shell::HOLE;

/// Options of programs for containers before the verb that take a value, short and long.
pub const CONTAINER_OPTIONS: (&str, &[&str]) = (
    "cHlnafp",
    &[
        "config",
        "context",
        "host",
        "log-level",
        "tlscacert",
        "tlscert",
        "tlskey",
        "url",
        "connection",
        "identity",
        "root",
        "runroot",
        "storage-driver",
        "storage-opt",
        "namespace",
        "address",
        "file",
        "project-name",
        "project-directory",
        "profile",
        "env-file",
        "ansi",
        "parallel",
        "progress",
        "podman-path",
    ],
);
/// The same of programs for clusters; they may stand behind the verb, too.
pub const CLUSTER_OPTIONS: (&str, &[&str]) = (
    "nsvcf",
    &[
        "namespace",
        "context",
        "cluster",
        "kubeconfig",
        "user",
        "server",
        "token",
        "as",
        "as-group",
        "as-uid",
        "cache-dir",
        "certificate-authority",
        "client-certificate",
        "client-key",
        "request-timeout",
        "tls-server-name",
        "username",
        "password",
        "profile",
        "profile-output",
        "container",
        "filename",
        "pod-running-timeout",
    ],
);

pub fn judge(call: &Call<'_>, findings: &mut Findings) {
    match call.name {
        "docker" | "podman" | "nerdctl" => containers(call, findings),
        "docker-compose" | "podman-compose" => compose(call, findings),
        "kubectl" | "oc" | "helm" | "k9s" | "kubeadm" => cluster(call, findings),
        "terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "ansible" | "ansible-playbook"
        | "sls" | "serverless" => plans(call, findings),
        _ => clouds(call, findings),
    }
}

fn containers(call: &Call<'_>, findings: &mut Findings) {
    const LOST: &str = "Removes containers, images or volumes.";
    let (short, long) = CONTAINER_OPTIONS;
    let call = &call.after_options(short, long);
    let (first, second) = (call.operand(0), call.operand(1));
    let forced = call.short('f') || call.long("force");
    let removed = match first {
        "rm" | "rmi" => {
            forced || call.short('v') || call.arguments.iter().any(|argument| !argument.is_exact())
        }
        "system" | "container" | "image" | "volume" | "network" | "builder" | "buildx" | "pod" => {
            second == "prune"
                || (first, second) == ("system", "reset")
                || matches!(second, "rm" | "remove")
                    && (forced || matches!(first, "volume" | "network"))
        }
        "swarm" => matches!(second, "leave"),
        "stack" | "service" | "node" | "secret" | "config" => matches!(second, "rm" | "remove"),
        _ => false,
    };
    findings.add_if(removed, Rule::Containers, LOST);
    findings.add_if(
        first.contains(HOLE),
        Rule::HiddenCode,
        "What is done with the containers is only known when it runs.",
    );
    if first == "compose" {
        compose(call, findings);
    }
    let mounts: Vec<&str> = call.values(&["-v", "--volume", "--mount"]);
    let whole = |mount: &&str| {
        mount.starts_with("/:")
            || mount.contains("docker.sock")
            || mount.contains("source=/,")
            || mount.contains("src=/,")
            || mount.starts_with("/etc:")
            || mount.starts_with("/root")
    };
    let breaks_out = mounts.iter().any(whole)
        || call.texts().any(|text| {
            matches!(
                text,
                "--privileged"
                    | "--pid=host"
                    | "--cap-add=ALL"
                    | "--cap-add=SYS_ADMIN"
                    | "--userns=host"
            )
        });
    findings.add_if(
        breaks_out && matches!(first, "run" | "create" | "exec"),
        Rule::Privilege,
        "Starts a container that has the whole machine.",
    );
}

fn compose(call: &Call<'_>, findings: &mut Findings) {
    let down = call.has("down")
        && (call.short('v')
            || call.long("volumes")
            || call.texts().any(|text| text.starts_with("--rmi")));
    let removed = call.has("rm") && (call.short('f') || call.short('v') || call.long("force"));
    findings.add_if(
        down || removed,
        Rule::Containers,
        "Removes containers with their data.",
    );
}

fn cluster(call: &Call<'_>, findings: &mut Findings) {
    let (short, long) = CLUSTER_OPTIONS;
    let inner = call.after_options(short, long);
    let changes = match call.name {
        "helm" => call.has_any(&["uninstall", "delete", "del", "rollback"]),
        "kubeadm" => call.has("reset"),
        _ => {
            let verb = inner
                .operands()
                .map(|operand| operand.text.as_str())
                .find(|text| KUBECTL.contains(text));
            verb.is_some_and(|verb| match verb {
                "scale" => call
                    .texts()
                    .any(|text| text == "--replicas=0" || text == "0"),
                "replace" => call.short('f') && call.has("--force") || call.has("--force"),
                "delete" | "drain" | "cordon" | "evict" => true,
                _ => false,
            })
        }
    };
    findings.add_if(
        changes,
        Rule::Cloud,
        "Removes or stops something in a cluster.",
    );
    findings.add_if(
        inner.operand(0).contains(HOLE),
        Rule::HiddenCode,
        "What is done in the cluster is only known when it runs.",
    );
}

/// The first of these words is what is done.
const KUBECTL: &[&str] = &[
    "delete", "drain", "cordon", "evict", "scale", "replace", "get", "describe", "logs", "apply",
    "create", "exec", "run", "edit", "patch", "config", "top", "explain", "rollout",
];

fn plans(call: &Call<'_>, findings: &mut Findings) {
    let call = &match call.name {
        "pulumi" => call.after_options("Csv", &["cwd", "stack", "color", "tracing", "profiling"]),
        "cdk" => call.after_options(
            "acpovri",
            &["app", "context", "plugin", "output", "profile", "role-arn"],
        ),
        "sls" | "serverless" => call.after_options("srco", &["stage", "region", "config"]),
        _ => call.after_options(
            "",
            &[
                "terragrunt-working-dir",
                "terragrunt-config",
                "working-dir",
                "config",
            ],
        ),
    };
    let verb = call.operand(0);
    let changes = match call.name {
        "terraform" | "tofu" | "terragrunt" => {
            matches!(
                verb,
                "destroy" | "apply" | "taint" | "import" | "force-unlock" | "run-all"
            ) || verb == "state"
                && matches!(call.operand(1), "rm" | "mv" | "push" | "replace-provider")
                || verb == "workspace" && call.operand(1) == "delete"
        }
        "pulumi" => {
            matches!(verb, "destroy" | "up" | "update" | "refresh")
                || verb == "stack" && call.operand(1) == "rm"
        }
        "cdk" => matches!(verb, "destroy" | "deploy"),
        "sls" | "serverless" => matches!(verb, "remove" | "deploy"),
        _ => false,
    };
    findings.add_if(
        changes,
        Rule::Cloud,
        "Changes or destroys real infrastructure.",
    );
}

fn clouds(call: &Call<'_>, findings: &mut Findings) {
    const VERBS: &[&str] = &[
        "delete",
        "destroy",
        "terminate",
        "remove",
        "rm",
        "rb",
        "purge",
        "deprovision",
        "reset",
        "stop",
        "deallocate",
        "detach",
    ];
    let acts = || {
        call.operands()
            .map(|operand| operand.text.as_str())
            .take(5)
            .any(|text| {
                let verb = text.split(['-', ':']).next().unwrap_or_default();
                let last = text.rsplit(':').next().unwrap_or_default();
                VERBS.contains(&verb) || VERBS.contains(&last)
            })
    };
    let changes = match call.name {
        "aws" => acts() || call.has("sync") && call.has("--delete"),
        "gcloud" | "az" | "gsutil" | "doctl" | "flyctl" | "fly" | "heroku" | "linode-cli"
        | "hcloud" | "ibmcloud" | "oci" | "scw" | "vercel" | "netlify" | "wrangler"
        | "supabase" | "firebase" | "eksctl" | "railway" | "rclone" | "s3cmd" | "mc" | "vault"
        | "consul" | "nomad" | "etcdctl" => {
            acts()
                || call.name == "rclone" && call.has_any(&["sync", "delete", "purge"])
                || call.has_any(&["pg:reset", "db:reset", "del"])
        }
        "gh" | "glab" => {
            call.has("delete")
                || call.operands().any(|operand| operand.text == "DELETE")
                || call.values(&["-X", "--method"]).contains(&"DELETE")
        }
        "npm" | "cargo" | "gem" | "twine" => call.has_any(&["unpublish", "yank"]),
        _ => false,
    };
    findings.add_if(
        changes,
        Rule::Cloud,
        "Deletes or stops something at a provider.",
    );
}
