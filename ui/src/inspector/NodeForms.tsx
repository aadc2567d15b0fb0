/** Properties of hosts, switches, routers, controllers and labels: MiniEdit's fields and wanlab's. */
import type { DrawnLabel, DrawnNode } from "../protocol";
import { useDocument } from "../stores/document";
import { edit } from "../stores/edits";
import { usePlanned, portsOf } from "../stores/ports";
import { Choice, Flag, Rows, Section, TextField } from "./Field";
import { LinkList } from "./LinkList";
import { decimalOrText, listOf, orNothing, rename, setOption, setOptions, textOf, wholeOrText } from "./options";
import * as units from "./units";

interface Props {
  node: DrawnNode;
}

function NameField({ node }: Props) {
  return (
    <TextField field="name" title="Name" value={node.name} check={units.name} onChange={(name) => rename(node, name)} />
  );
}

/** A text option. */
function Option({
  node,
  word,
  title,
  check,
  placeholder,
  hint,
  whole,
}: Props & {
  word: string;
  title: string;
  check?: units.Check;
  placeholder?: string | undefined;
  hint?: string;
  whole?: boolean;
}) {
  return (
    <TextField
      field={`options.${word}`}
      title={title}
      value={textOf(node.options, word)}
      placeholder={placeholder}
      hint={hint}
      {...(check === undefined ? {} : { check })}
      onChange={(text) => setOption(node, word, whole ? wholeOrText(text) : orNothing(text))}
    />
  );
}

function Commands({ node }: Props) {
  const isSet = node.options.start_command !== undefined || node.options.stop_command !== undefined;
  return (
    <Section title="Commands" isOpen={isSet}>
      <Option node={node} word="start_command" title="Start command" hint="runs after the network has started" />
      <Option node={node} word="stop_command" title="Stop command" hint="runs before the network stops" />
    </Section>
  );
}

function External({ node }: Props) {
  const names = listOf(node.options, "external_interfaces").map(String);
  return (
    <Section title="External interfaces" isOpen={names.length > 0}>
      <Rows
        field="options.external_interfaces"
        title="Interfaces of your computer"
        hint="For Mininet: the file keeps them, but a network with them does not run here."
        rows={names.map((name) => [name])}
        columns={[{ title: "Interface", placeholder: "eth9" }]}
        addTitle="interface"
        onChange={(rows) =>
          setOption(node, "external_interfaces", rows.length === 0 ? undefined : rows.map(([name]) => name))
        }
      />
    </Section>
  );
}

/** A model, or a share of the network's. A model with other cores or costs is shown by its name. */
function ProcessorField({ node }: Props) {
  const { cpu } = node.options;
  const value = typeof cpu === "object" && cpu !== null ? textOf({ ...cpu }, "model") : textOf(node.options, "cpu");
  return (
    <TextField
      field="options.cpu"
      title="Model or share"
      value={value}
      placeholder="the network's"
      hint="server-2019, board-2019 or free, for example; or a share of the network's, from 0 to 1"
      check={units.processor}
      onChange={(text) => setOption(node, "cpu", decimalOrText(text))}
    />
  );
}

export function HostForm({ node }: Props) {
  const planned = usePlanned((state) => portsOf(node.id, state.ports)[0]?.addresses[0]);
  const byRule = node.options.ip === undefined && planned !== undefined ? `${planned} (automatic)` : "automatic";
  const vlans = listOf(node.options, "vlan_interfaces") as unknown[][];
  const folders = listOf(node.options, "private_directories");
  const hasProcessor = ["cpu", "cores", "scheduler"].some((word) => node.options[word] !== undefined);
  return (
    <>
      <NameField node={node} />
      <Option node={node} word="ip" title="IP address" check={units.hostAddress} placeholder={byRule} />
      <Option node={node} word="default_route" title="Default route" check={units.gateway} placeholder="none" />
      <Option node={node} word="mac" title="MAC address" check={units.mac} placeholder="automatic" />
      <LinkList node={node} />
      <Section title="Processor" isOpen={hasProcessor}>
        <ProcessorField node={node} />
        <Choice
          field="options.scheduler"
          title="Scheduler"
          value={textOf(node.options, "scheduler")}
          choices={[
            ["", "host"],
            ["cfs", "cfs"],
            ["rt", "rt"],
          ]}
          onChange={(word) => setOption(node, "scheduler", orNothing(word))}
        />
        <Option node={node} word="cores" title="Cores" placeholder="any" hint="for example 0, or 0,2" />
      </Section>
      <Commands node={node} />
      <Section title="VLAN interfaces" isOpen={vlans.length > 0}>
        <Rows
          field="options.vlan_interfaces"
          title="Address and VLAN"
          rows={vlans.map(([ip, vlan]) => [String(ip ?? ""), String(vlan ?? "")])}
          columns={[
            { title: "Address", placeholder: "10.1.0.1/24", check: units.address },
            { title: "VLAN", placeholder: "100", check: units.whole(1, 4094) },
          ]}
          addTitle="VLAN interface"
          onChange={(rows) =>
            setOption(
              node,
              "vlan_interfaces",
              rows.length === 0 ? undefined : rows.map(([ip = "", vlan = ""]) => [ip, wholeOrText(vlan) ?? ""]),
            )
          }
        />
      </Section>
      <External node={node} />
      <Section title="Private directories" isOpen={folders.length > 0}>
        <Rows
          field="options.private_directories"
          title="Directory, and where its files are kept"
          rows={folders.map((it) =>
            Array.isArray(it) ? [String(it[0] ?? ""), String(it[1] ?? "")] : [String(it), ""],
          )}
          columns={[
            { title: "Mount", placeholder: "/var/run" },
            { title: "Persistent directory", placeholder: "temporary" },
          ]}
          addTitle="private directory"
          onChange={(rows) =>
            setOption(
              node,
              "private_directories",
              rows.length === 0
                ? undefined
                : rows.map(([mount = "", kept = ""]) => (kept === "" ? mount : [mount, kept])),
            )
          }
        />
      </Section>
    </>
  );
}

const SWITCH_KINDS = [
  ["bridge", "Linux bridge"],
  ["ovs", "Open vSwitch"],
] as const;

const OPENFLOW = ["10", "11", "12", "13", "14", "15"].map((it) => `OpenFlow${it}`);
const OVS_OPTIONS = ["protocols", "fail_mode", "datapath", "listen_port", "netflow", "sflow", "dpid", "controllers"];

export function SwitchForm({ node }: Props) {
  const { options } = node;
  const kind = textOf(options, "kind") || "bridge";
  const isOvs = kind !== "bridge";
  const protocols = listOf(options, "protocols").map(String);
  const setKind = (word: string) => {
    const dropped = word === "bridge" ? OVS_OPTIONS.map((it) => [it, undefined]) : [["vlan_filtering", undefined]];
    setOptions(node, { ...Object.fromEntries(dropped), kind: word === "bridge" ? undefined : word }, "type");
  };
  const flag = (word: string) => (value: boolean) => setOption(node, word, value ? true : undefined);
  return (
    <>
      <NameField node={node} />
      <Choice
        field="options.kind"
        title="Switch type"
        value={kind}
        choices={SWITCH_KINDS}
        hint={isOvs ? "controlled by the controllers linked to it" : "a learning switch; MiniEdit's legacy switch"}
        onChange={setKind}
      />
      <Option node={node} word="ip" title="IP address" check={units.address} placeholder="none" />
      {isOvs && (
        <>
          <Option node={node} word="dpid" title="DPID" check={units.dpid} placeholder="automatic" hint="hexadecimal" />
          <Choice
            field="options.fail_mode"
            title="Without a controller"
            value={textOf(options, "fail_mode")}
            choices={[
              ["", "automatic"],
              ["standalone", "act as a learning switch (standalone)"],
              ["secure", "use only its present flows (secure)"],
            ]}
            onChange={(word) => setOption(node, "fail_mode", orNothing(word))}
          />
          <Choice
            field="options.datapath"
            title="Datapath"
            value={textOf(options, "datapath") || "kernel"}
            choices={[
              ["kernel", "kernel"],
              ["user", "user space"],
            ]}
            onChange={(word) => setOption(node, "datapath", word === "kernel" ? undefined : word)}
          />
          <Option
            node={node}
            word="listen_port"
            title="DPCTL port"
            check={units.whole(1, 65535)}
            placeholder="none"
            whole
          />
          <Flag
            field="options.netflow"
            title="Enable NetFlow"
            value={isOn(options.netflow)}
            onChange={flag("netflow")}
          />
          <Flag
            field="options.sflow"
            title="Enable sFlow"
            value={isOn(options.sflow)}
            hint="set the target in the preferences"
            onChange={flag("sflow")}
          />
          <Section title="OpenFlow versions" isOpen={protocols.length > 0}>
            {OPENFLOW.map((version) => (
              <Flag
                key={version}
                field="options.protocols"
                title={version.replace(/(\d)(\d)$/, " $1.$2")}
                value={protocols.includes(version)}
                onChange={(isEnabled) => {
                  const chosen = OPENFLOW.filter((other) =>
                    other === version ? isEnabled : protocols.includes(other),
                  );
                  setOption(node, "protocols", chosen.length === 0 ? undefined : chosen);
                }}
              />
            ))}
            <p className="hint">If none is selected, those of the preferences apply.</p>
          </Section>
        </>
      )}
      <LinkList node={node} />
      <Section
        title="Spanning tree and VLANs"
        isOpen={["stp", "priority", "vlan_filtering"].some((word) => options[word] !== undefined)}
      >
        <Flag
          field="options.stp"
          title="Spanning tree (STP)"
          value={options.stp === true}
          onChange={(value) =>
            setOptions(node, value ? { stp: true } : { stp: undefined, priority: undefined }, "spanning tree")
          }
        />
        <Option
          node={node}
          word="priority"
          title="Priority"
          check={units.whole(0, 65535)}
          placeholder="32768"
          hint="the switch with the lowest value becomes the root bridge"
          whole
        />
        {!isOvs && (
          <Flag
            field="options.vlan_filtering"
            title="VLAN filtering"
            value={options.vlan_filtering === true}
            hint="always on if a port of this switch has a VLAN"
            onChange={flag("vlan_filtering")}
          />
        )}
      </Section>
      <External node={node} />
      <Commands node={node} />
    </>
  );
}

function isOn(value: unknown): boolean {
  return value !== undefined && value !== false;
}

export function RouterForm({ node }: Props) {
  const routes = listOf(node.options, "routes").map(String);
  const frr = textOf(node.options, "frr");
  return (
    <>
      <NameField node={node} />
      <LinkList node={node} withAddresses />
      <Section title="Routes" isOpen>
        <Rows
          field="options.routes"
          title="Arguments of ip route add"
          rows={routes.map((route) => [route])}
          columns={[{ title: "Route", placeholder: "10.0.2.0/24 via 10.0.1.2", check: units.route }]}
          addTitle="route"
          onChange={(rows) => setOption(node, "routes", rows.length === 0 ? undefined : rows.map(([route]) => route))}
        />
      </Section>
      <Section title="FRRouting" isOpen={frr !== ""}>
        <TextField
          field="options.frr"
          title="frr.conf"
          value={frr}
          lines={8}
          face="mono"
          hint="if this is filled in, FRRouting runs in the router"
          onChange={(text) => setOption(node, "frr", text.trim() === "" ? undefined : text)}
        />
      </Section>
      <Section title="Processor" isOpen={node.options.cpu !== undefined}>
        <ProcessorField node={node} />
      </Section>
      <External node={node} />
      <Commands node={node} />
    </>
  );
}

export function ControllerForm({ node }: Props) {
  const kind = textOf(node.options, "kind") || "learning";
  const isBuiltIn = ["learning", "ref", "ovsc"].includes(kind);
  return (
    <>
      <NameField node={node} />
      <Choice
        field="options.kind"
        title="Controller type"
        value={kind}
        choices={[
          ["learning", "Learning (built in)"],
          ["remote", "Remote, inside the machine"],
          ["outside", "Remote, on your computer"],
          ["inband", "In-band"],
          ["ref", "OpenFlow reference (built in)"],
          ["ovsc", "OVS controller (built in)"],
        ]}
        onChange={(word) => setOption(node, "kind", word === "learning" ? undefined : word)}
      />
      <Option node={node} word="port" title="Controller port" check={units.whole(1, 65535)} placeholder="6633" whole />
      <Choice
        field="options.protocol"
        title="Protocol"
        value={textOf(node.options, "protocol") || "tcp"}
        choices={[
          ["tcp", "TCP"],
          ["ssl", "SSL"],
        ]}
        onChange={(word) => setOption(node, "protocol", word === "tcp" ? undefined : word)}
      />
      {!isBuiltIn && (
        <Option node={node} word="address" title="IP address" check={units.plainAddress} placeholder="127.0.0.1" />
      )}
      <LinkList node={node} />
      <Commands node={node} />
    </>
  );
}

export function LabelForm({ label }: { label: DrawnLabel }) {
  return (
    <TextField
      field="text"
      title="Text"
      value={label.text}
      lines={4}
      onChange={(text) => {
        const now = useDocument.getState().labels[label.id] ?? label;
        void edit("Change label", { labels: [{ ...now, text }] });
      }}
    />
  );
}
