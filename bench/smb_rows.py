# SPDX-License-Identifier: Apache-2.0
"""The SMB rows: our server beside Samba's smbd, signed and encrypted, one and four clients. Samba runs twice, as it comes and with
`sync always = yes`, which is what an acknowledged write of ours is: durable. The client is bench/smb."""
import json
import os
import shutil
import subprocess
import time

import peers

PASSWORD = 'bench-password'
CONFIG = '''[global]
server role = standalone server
smb ports = %(port)d
interfaces = 127.0.0.1
bind interfaces only = yes
private dir = %(dir)s/private
lock directory = %(dir)s/lock
state directory = %(dir)s/state
cache directory = %(dir)s/cache
pid directory = %(dir)s/pid
ncalrpc dir = %(dir)s/ncalrpc
log file = %(dir)s/log
disable netbios = yes
disable spoolss = yes
load printers = no
server min protocol = SMB2_10
server signing = required
passdb backend = tdbsam
[bench]
path = %(dir)s/share
read only = no
strict sync = yes
sync always = %(sync)s
'''
BESIDE = ('smb-read', 'smb-write', 'smb-write4k', 'smb-open', 'smb-create', 'smb-stat', 'smb-list')
MEASURED = (*BESIDE, 'smb-idle')
IDLE_SESSIONS = 1000


def samba(owner, sync, names=False):
    """smbd with a configuration of its own; it makes a session of its own and is ended by its first process. `sync always` syncs
    what is written to files and not the names that are made and removed; `names`: the file system makes those durable, too."""
    program = shutil.which('smbd', path=os.environ['PATH'] + ':/usr/sbin')
    if not program or os.getuid() != 0:
        raise RuntimeError('smbd is not here, or this is not run as root: the rows beside Samba are left out')
    folder, port = owner.folder('samba'), peers.free_port()
    for name in ('private', 'lock', 'state', 'cache', 'pid', 'ncalrpc', 'share'):
        os.mkdir(os.path.join(folder, name))
    if names:
        subprocess.run(['chattr', '+D', os.path.join(folder, 'share')], check=True)
    config = os.path.join(folder, 'smb.conf')
    with open(config, 'w', encoding='ascii') as f:
        f.write(CONFIG % {'port': port, 'dir': folder, 'sync': 'yes' if sync else 'no'})
    subprocess.run(['smbpasswd', '-c', config, '-s', '-a', 'root'], input='%s\n%s\n' % (PASSWORD, PASSWORD), text=True, check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, 'output'), 'ab') as out:
        process = subprocess.Popen([program, '-F', '-s', config], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    server = peers.Server(owner, 'samba', process, {'smb': port}, folder)
    owner.wait_port(port, process, folder)
    server.login = ['--user', 'root', '--password', PASSWORD]
    return server


def zaffre(owner):
    server = owner.zaffre(smb=True)
    server.login = ['--password', peers.KEY]
    owner.wait_port(server.ports['smb'], server.process, server.folder)
    return server


class SmbRows:
    def __init__(self, bench):
        self.bench = bench
        self.runs = 0
        self.durable = None

    def load(self, work, server, clients, encrypted=False, depth=4):
        self.runs += 1
        args = [os.path.join(self.bench.options.tools, 'smb_load'), work, '--port', str(server.ports['smb']), '--pid', str(server.pid), '--clients', str(clients),
                '--depth', str(depth), '--seconds', str(self.bench.seconds), *server.login]
        if work == 'create':  # names that no earlier run had
            args += ['--prefix', 'r%d' % self.runs]
        if encrypted:
            args.append('--encrypt')
        done = subprocess.run(args, stdout=subprocess.PIPE, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError('smb_load %s against %s failed' % (work, server.target))
        return json.loads(done.stdout)

    def cpu(self, name, title, mine, other, bar):
        """CPU of the server per GB, ours against theirs: at most the bar."""
        ratio = mine['server_cpu_s_per_gb'] / other['server_cpu_s_per_gb'] if other['server_cpu_s_per_gb'] else 0
        self.bench.most(name, '%s: CPU a GB, %.2f s against %.2f s' % (title, mine['server_cpu_s_per_gb'], other['server_cpu_s_per_gb']), ratio, bar, ' x', mine)

    def transfers(self, want, ours, plain, synced):
        for encrypted in (False, True):
            for clients in (1, 4):
                kind = '%s, %d client%s' % ('encrypted' if encrypted else 'signed', clients, 's' if clients > 1 else '')
                if want('smb-read'):
                    mine, other = self.bench.turns(*[lambda s=s: self.load('read', s, clients, encrypted) for s in (ours, plain)])
                    self.bench.row('smb-read', 'SMB read, ' + kind, mine, other, 1.0, 'Samba', ' MB/s', mine['mb_per_s'], other['mb_per_s'])
                    self.cpu('smb-read', 'SMB read, ' + kind, mine, other, 1.0)
                if want('smb-write'):
                    mine, other, lazy = self.bench.turns(*[lambda s=s: self.load('write', s, clients, encrypted) for s in (ours, synced, plain)])
                    self.bench.row('smb-write', 'SMB durable write, ' + kind, mine, other, 1.0, 'Samba, sync always', ' MB/s', mine['mb_per_s'], other['mb_per_s'])
                    self.cpu('smb-write', 'SMB durable write, ' + kind, mine, lazy, 1.3)

    def names(self):
        self.durable = self.durable or samba(self.bench.peers, True, names=True)
        return self.durable

    def small(self, want, ours, plain, synced):
        if want('smb-write4k'):
            for clients, depth in ((1, 4), (4, 4), (4, 16)):
                mine, other = self.bench.turns(*[lambda s=s: self.load('write4k', s, clients, depth=depth) for s in (ours, synced)])
                self.bench.row('smb-write4k', 'SMB durable write of 4 KiB, %d x %d' % (clients, depth), mine, other, 3.0, 'Samba, sync always')
        bars = {'open': 2.0, 'create': 3.0, 'stat': 0, 'list': 0}
        titles = {'open': 'SMB open + close', 'create': 'SMB create + close + unlink, durable', 'stat': 'SMB stat', 'list': 'SMB list of 1,000'}
        for work, title in titles.items():
            if not want('smb-' + work):
                continue
            for clients in (1, 4):
                mine, other = self.bench.turns(*[lambda s=s: self.load(work, s, clients) for s in (ours, plain)])
                kind = '%s, %d client%s' % (title, clients, 's' if clients > 1 else '')
                self.bench.row('smb-' + work, kind, mine, other, bars[work], 'Samba')
                if work == 'open':
                    self.bench.most('smb-open', kind + ': CPU', mine['server_cpu_us'], 100, ' us', mine)
                if work == 'create':
                    mine, other = self.bench.turns(*[lambda s=s: self.load(work, s, clients) for s in (ours, self.names())])
                    self.bench.row('smb-create', kind, mine, other, 0, 'Samba, sync always, dirsync')
                if work == 'list':
                    self.bench.most('smb-list', kind + ': CPU', mine['server_cpu_us'] / 1000, 5, ' ms', mine)

    def idle(self):
        """What a thousand sessions that do nothing cost in memory."""
        server = zaffre(self.bench.peers)
        args = [os.path.join(self.bench.options.tools, 'smb_load'), 'idle', '--port', str(server.ports['smb']), '--clients', str(IDLE_SESSIONS), *server.login]
        before = server.rss_mib()
        process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        json.loads(process.stdout.readline())
        time.sleep(1)
        grown = server.rss_mib() - before
        process.communicate(b'\n')
        self.bench.most('smb-idle', 'SMB: 1,000 idle sessions', grown, 50, ' MiB')
        server.stop()

    def run(self, want):
        if want('smb-idle'):
            self.idle()
        if not any(want(name) for name in BESIDE):
            return
        owner = self.bench.peers
        ours, plain, synced = zaffre(owner), samba(owner, False), samba(owner, True)
        self.transfers(want, ours, plain, synced)
        self.small(want, ours, plain, synced)
        for server in (ours, plain, synced, *([self.durable] if self.durable else [])):
            server.stop()
